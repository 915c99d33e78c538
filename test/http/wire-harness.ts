import { createModels } from '../../functions/adapters/models/models.ts'
import { createMcpToolRegistry } from '../../functions/adapters/mcp/tool-registry.ts'
import type { Agent } from '../../functions/domain/agent.ts'
import type { Tool } from '../../functions/ports/tool.ts'
import { connectorWith } from '../adapters/mcp/servers.ts'
import { PROVIDERS } from '../adapters/models/providers.ts'
import type { Provider } from '../adapters/models/providers.ts'
import { startRecordingServer } from '../model-server/recording-server.ts'
import type { ScriptedCompletion } from '../model-server/scripted-completion.ts'
import { expectJson, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

/** The provider packages by the wire that they speak. */
export const WIRES: readonly { readonly wire: string; readonly provider: Provider }[] = [
  'chat',
  'responses',
  'messages',
  'bedrock',
].flatMap((wire, index) => {
  const provider = PROVIDERS[index]
  return provider === undefined ? [] : [{ wire, provider }]
})

/** The whole program in this process with a provider's real package, and a model server that speaks its wire. */
export interface WireHarness {
  readonly harness: HttpHarness
  /** Sets the next completions. Each later completion is `DONE`. */
  play(...completions: readonly ScriptedCompletion[]): void
  /** The bodies of the requests since the last `play`. */
  sent(): readonly string[]
  /** Creates a session, sends an input and waits for the run. */
  ask(
    content: string,
  ): Promise<{ readonly session: string; readonly run: { readonly id: string; readonly status: string } }>
  /** The tool results of a session. */
  results(session: string): Promise<readonly ToolResult[]>
  close(): Promise<void>
}

interface ToolResult {
  readonly role: string
  readonly status?: string
  readonly parts: readonly { readonly type: string; readonly text?: string }[]
}

const DONE: ScriptedCompletion = { parts: [{ type: 'text', text: 'done' }] }

export async function openWire(
  provider: Provider,
  mcp?: Agent['mcp'],
  tools: readonly Tool[] = [],
): Promise<WireHarness> {
  let completions: ScriptedCompletion[] = []
  let played = 0
  let sessions = 0
  const server = await startRecordingServer(() => ({
    headers: { 'content-type': provider.contentType },
    frames: provider.frames(completions.shift() ?? DONE),
  }))
  const models = createModels({ settings: provider.settings(server.url) })
  const connect = connectorWith({ allowedHosts: (mcp ?? []).map(({ url }) => new URL(url).host) })
  const harness = await openHttpHarness({
    tools,
    agents: [
      {
        name: 'default',
        model: provider.model,
        tools: tools.map(({ name }) => name),
        ...(mcp === undefined ? {} : { mcp }),
      },
    ],
    change: (ports) => ({ ...ports, models }),
    remote:
      ({ outputs }) =>
      (list) =>
        createMcpToolRegistry({ list, outputs, connect }),
  })
  return {
    harness,
    play(...next) {
      completions = [...next]
      played = server.requests.length
    },
    sent: () => server.requests.slice(played).map(({ body }) => body),
    async ask(content) {
      const session = `s${++sessions}`
      await expectJson(harness, 201, 'POST', '/v1/sessions', { id: session })
      const run = await expectJson<{ id: string; status: string }>(
        harness,
        200,
        'POST',
        `/v1/sessions/${session}/messages`,
        { content },
        { prefer: 'wait=60' },
      )
      return { session, run }
    },
    async results(session) {
      const path = `/v1/sessions/${session}/messages?order=asc&roles=tool`
      return (await expectJson<{ data: readonly ToolResult[] }>(harness, 200, 'GET', path)).data
    },
    async close() {
      await harness.close()
      await server.close()
    },
  }
}
