import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { ModelSettings } from '../../../functions/adapters/models/model-settings.ts'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import { NO_CAPS } from '../../../functions/access/rates.ts'
import type { Agent, Policies } from '../../../functions/domain/agent.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Tool } from '../../../functions/ports/tool.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { openPorts } from '../../../functions/runtime/local/open-ports.ts'
import { createProgram } from '../../../functions/runtime/program.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import type { Backend, Place } from './backend.ts'
import { createClient } from './client.ts'
import type { Client } from './client.ts'

export interface InProcess {
  readonly client: Client
  readonly ports: Ports
  readonly place: Place
  close(): Promise<void>
}

/** An agent with the default policies, except for the given ones. */
export const testAgent = (agent: Omit<Agent, 'policies' | 'modelOptions' | 'tools'> & Partial<Agent>): Agent => ({
  modelOptions: {},
  tools: [],
  policies: DEFAULT_POLICIES,
  ...agent,
})

export const withPolicies = (policies: Partial<Policies>): Policies => ({ ...DEFAULT_POLICIES, ...policies })

/** Starts the whole program in this process, over real HTTP, in a separate place of the backend. */
export async function startInProcess(options: {
  readonly backend: Backend
  readonly agents: readonly Agent[]
  readonly tools?: readonly Tool[]
  readonly modelBaseUrl: string
  /** Replaces the default model settings, which name the server at `modelBaseUrl`. */
  readonly modelSettings?: ModelSettings
}): Promise<InProcess> {
  const place = await options.backend.open()
  const model = { MODEL: 'openai-compatible/any', MODEL_BASE_URL: options.modelBaseUrl }
  const settings = readSettings({
    ...place.env,
    ...model,
    LOG_LEVEL: options.modelSettings === undefined ? 'error' : 'silent',
  })
  const ports = await openPorts({ ...settings, ...definedFields({ modelSettings: options.modelSettings }) })
  const program = createProgram(ports, {
    agents: new Map(options.agents.map((agent) => [agent.name, agent])),
    tools: new Map((options.tools ?? []).map((tool) => [tool.name, tool])),
    app: { version: '0.0.0', openAccess: true, corsOrigins: [], caps: NO_CAPS },
    sweepMs: 1_000,
  })
  program.start()
  const server = serve({ fetch: program.app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
  server.keepAliveTimeout = 65_000
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    client: createClient(`http://127.0.0.1:${port}`),
    ports,
    place,
    async close() {
      await program.stop()
      server.closeAllConnections()
      server.close()
      await ports.close()
      await place.remove()
    },
  }
}
