import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { DEFAULT_POLICIES } from '../../functions/domain/agent.ts'
import type { Agent } from '../../functions/domain/agent.ts'
import type { ApiKey } from '../../functions/domain/keys/api-key.ts'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import type { Channel } from '../../functions/delivery/channel.ts'
import type { AppSettings } from '../../functions/http/dependencies.ts'
import type { AgentService } from '../../functions/agent/service/agent-service.ts'
import type { InboundEndpoint } from '../../functions/ports/inbound-endpoint.ts'
import { NO_CAPS } from '../../functions/access/rates.ts'
import { hashKeySecret, newKeySecret } from '../../functions/access/key-secret.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { Logger } from '../../functions/ports/logger.ts'
import type { Tool, ToolRegistry } from '../../functions/ports/tool.ts'
import { openLocalPorts } from '../../functions/runtime/local/ports.ts'
import { createProgram } from '../../functions/runtime/program.ts'
import type { Ports, Program } from '../../functions/runtime/program.ts'
import { completionOf } from '../agent/harness.ts'
import type { Turn } from '../agent/harness.ts'
import { requireNoImages, storedRows } from '../fixtures/stored-rows.ts'
import { deviations } from './conformance.ts'
import type { OpenApiDocument } from './conformance.ts'

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: { readonly [name: string]: unknown }
}

export interface HttpHarness {
  readonly ports: Ports
  readonly program: Program
  readonly document: OpenApiDocument
  /** Every request sent to the model. */
  readonly requests: ModelRequest[]
  readonly lines: LogLine[]
  /** Sends a request and checks its response against the description. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** Makes a key and returns its `Authorization` header. */
  key(fields?: Partial<Omit<ApiKey, 'id'>>): Promise<{ authorization: string }>
  close(): Promise<void>
}

/** The document of the usual program. It is cached, because its creation takes half of the time to open a harness. */
let usualDocument: OpenApiDocument | undefined

const documentOf = async ({ app }: Program): Promise<OpenApiDocument> =>
  (await (await app.request('http://localhost:3000/openapi.json')).json()) as OpenApiDocument

/** The whole program in this process on real SQLite and disk, with a scripted model. Requests go to its HTTP app. */
export async function openHttpHarness(
  options: {
    readonly script?: readonly Turn[]
    readonly tools?: readonly Tool[]
    readonly policies?: Partial<Agent['policies']>
    /** Agents in addition to `default` and `other`. An agent with one of these names replaces it. */
    readonly agents?: readonly (Partial<Agent> & Pick<Agent, 'name'>)[]
    readonly settings?: Partial<AppSettings>
    readonly change?: (ports: Ports) => Ports
    readonly clock?: Clock
    readonly callbacks?: ReadonlySet<string>
    /** Hosts from which images may be fetched by address, as in `TOOLTRAIL_ALLOWED_HOSTS`. */
    readonly allowedHosts?: readonly string[]
    readonly endpoints?: (ports: Ports) => (service: AgentService) => readonly InboundEndpoint[]
    readonly channels?: (ports: Ports) => ReadonlyMap<string, Channel>
    /** Adds the tools of agents' MCP servers. */
    readonly remote?: (ports: Ports) => (list: ToolRegistry) => ToolRegistry
  } = {},
): Promise<HttpHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-http-'))
  const opened = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} }, options.clock)
  const requests: ModelRequest[] = []
  const lines: LogLine[] = []
  const models = scripted(options.script ?? [], requests)
  const ports = (options.change ?? ((same: Ports) => same))({ ...opened, models, logger: collect(lines) })
  const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]))
  const agent = (name: string): Agent => ({
    name,
    model: 'script/ed',
    modelOptions: {},
    instructions: 'Be brief.',
    tools: [...tools.keys()],
    policies: { ...DEFAULT_POLICIES, ...options.policies },
  })
  const program = createProgram(ports, {
    agents: new Map(
      [agent('default'), agent('other'), ...(options.agents ?? []).map((one) => ({ ...agent(one.name), ...one }))].map(
        (one) => [one.name, one],
      ),
    ),
    tools,
    ...(options.channels === undefined ? {} : { channels: options.channels(ports) }),
    ...(options.remote === undefined ? {} : { remote: options.remote(ports) }),
    ...definedFields({ callbacks: options.callbacks, allowedHosts: options.allowedHosts }),
    ...(options.endpoints === undefined ? {} : { endpoints: options.endpoints(ports) }),
    app: { version: '0.0.0', openAccess: true, corsOrigins: [], caps: NO_CAPS, ...options.settings },
    sweepMs: 200,
  })
  program.start()
  const isUsual = ['settings', 'channels', 'callbacks', 'endpoints', 'change'].every((name) => !(name in options))
  const document = (isUsual ? usualDocument : undefined) ?? (await documentOf(program))
  if (isUsual) usualDocument = document
  let keys = 0
  const harness: HttpHarness = {
    ports,
    program,
    document,
    requests,
    lines,
    async send(method, path, body, headers = {}) {
      const isText = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream
      const request = new Request(`http://localhost:3000${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: isText ? (body as string) : JSON.stringify(body), duplex: 'half' }),
      } as RequestInit)
      const response = await program.app.fetch(request)
      expect(await deviations(document, request, response), `${method} ${path}`).toEqual([])
      return response
    },
    async key(fields = {}) {
      const secret = newKeySecret()
      await ports.keys.create(hashKeySecret(secret), {
        id: `key_${++keys}`,
        tenant: 'default',
        scopes: ['read', 'write'],
        caps: {},
        createdAt: 0,
        ...fields,
      })
      return { authorization: `Bearer ${secret}` }
    },
    async close() {
      await program.stop()
      await opened.close()
      requireNoImages(storedRows(folder))
      requireNoImages(lines.map((line) => JSON.stringify(line)))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return harness
}

/** Sends a request like `send`, but returns only the status. */
export const statusOf = async (
  harness: HttpHarness,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<number> => (await harness.send(method, path, body, headers)).status

/** Sends a request like `send`. The response must have this status. Returns its JSON. */
export async function expectJson<Body = Record<string, unknown>>(
  harness: HttpHarness,
  status: number,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Body> {
  const response = await harness.send(method, path, body, headers)
  const text = await response.text()
  expect(response.status, `${method} ${path}: ${text}`).toBe(status)
  return JSON.parse(text) as Body
}

/** A completion that starts with a text and ends only after `letGo` is called. It can serve several requests. */
export function heldTurn(): { readonly turn: Turn; letGo(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    async *turn(_request, signal) {
      yield { type: 'text.delta', part: 0, text: 'thinking' }
      const aborted = new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      )
      await Promise.race([promise, aborted])
      yield { type: 'completion', completion: completionOf({ text: 'thinking' }) }
    },
    letGo: () => resolve(),
  }
}

function scripted(script: readonly Turn[], requests: ModelRequest[]): Ports['models'] {
  let at = 0
  return {
    open: async () => ({
      name: 'script/ed',
      async *stream(request, signal) {
        requests.push(request)
        const turn = script[at++] ?? { text: 'done' }
        if (typeof turn === 'function') {
          yield* turn(request, signal)
          return
        }
        if (turn.text !== undefined) yield { type: 'text.delta', part: 0, text: turn.text }
        yield { type: 'completion', completion: completionOf(turn) }
      },
    }),
  }
}

const collect = (lines: LogLine[]): Logger => ({
  info: (message, fields = {}) => void lines.push({ level: 'info', message, fields }),
  warn: (message, fields = {}) => void lines.push({ level: 'warn', message, fields }),
  error: (message, cause, fields = {}) => void lines.push({ level: 'error', message, fields: { ...fields, cause } }),
})
