import { afterAll, beforeAll } from 'vitest'
import type { Agent } from '../../../functions/domain/agent.ts'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { Tool } from '../../../functions/ports/tool.ts'
import { PROVIDERS } from '../../adapters/models/providers.ts'
import type { Provider } from '../../adapters/models/providers.ts'
import type { RecordedRequest, Reply } from '../../model-server/recording-server.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import type { ScriptedCompletion } from '../../model-server/scripted-completion.ts'
import type { Client, RunBody } from '../backend/client.ts'
import { startInProcess, testAgent } from '../backend/in-process.ts'
import type { InProcess } from '../backend/in-process.ts'
import { localBackend } from '../backend/local-backend.ts'
import { readWireBody } from './wire-body.ts'
import type { WireBody } from './wire-body.ts'
import { WIRES } from './wires.ts'
import type { Wire } from './wires.ts'

const PROVIDER_OF: { readonly [wire in Wire]: string } = {
  chat: 'openai-compatible',
  responses: 'openai',
  messages: 'anthropic',
  bedrock: 'bedrock',
}

export function providerOf(wire: Wire): Provider {
  const found = PROVIDERS.find(({ name }) => name === PROVIDER_OF[wire])
  if (found === undefined) throw new RangeError(`no provider for ${wire}`)
  return found
}

/** A refusal: its status (default: 400) and the provider's message. */
export type Refusal = string | { readonly status: number; readonly message: string }

/** The whole program over HTTP, with a scripted model that speaks all four formats. */
export interface FourWires {
  readonly client: Client
  readonly program: InProcess
  /** Replaces the completions to come, and forgets the requests so far. */
  play(...completions: readonly ScriptedCompletion[]): void
  /** From now on the model refuses requests with this reason; undefined: it accepts them. */
  refuse(reason: (body: WireBody, index: number) => Refusal | undefined): void
  /** Sets the model name in later responses. */
  name(named: (model: string) => string): void
  /** The requests since the last `play`, including refused ones. */
  requests(): readonly WireBody[]
  newSession(agent: string): Promise<string>
  ask(session: string, content: unknown): Promise<RunBody>
}

interface Settings {
  readonly agents?: readonly Agent[]
  readonly tools?: readonly Tool[]
  readonly change?: (agent: Agent) => Agent
}

const DONE: ScriptedCompletion = { parts: [{ type: 'text', text: 'done' }] }

/** Starts the program before the suite's tests and stops it after them. */
export function declareFourWires({ agents = [], tools = [], change = (agent) => agent }: Settings = {}): FourWires {
  let completions: ScriptedCompletion[] = []
  let played = 0
  let reason: (body: WireBody, index: number) => Refusal | undefined = () => undefined
  let named = (model: string): string => model
  const seen: WireBody[] = []
  let program: InProcess
  let server: Awaited<ReturnType<typeof startRecordingServer>>

  async function reply(request: RecordedRequest): Promise<Reply> {
    const body = readWireBody(wireOf(request.path), request)
    seen.push(body)
    const refusal = reason(body, seen.length - 1 - played)
    if (refusal === undefined) {
      const { contentType, frames } = providerOf(body.wire)
      return {
        headers: { 'content-type': contentType },
        frames: frames(completions.shift() ?? DONE, named(body.model)),
      }
    }
    const { status, message } = typeof refusal === 'string' ? { status: 400, message: refusal } : refusal
    const error = { type: 'invalid_request_error', message }
    return { status, headers: { 'content-type': 'application/json' }, frames: [JSON.stringify({ error, message })] }
  }

  beforeAll(async () => {
    server = await startRecordingServer(reply)
    const own = WIRES.map((wire) =>
      change(testAgent({ name: wire, model: providerOf(wire).model, tools: names(tools) })),
    )
    program = await startInProcess({
      backend: localBackend,
      agents: [...own, ...agents],
      tools,
      modelBaseUrl: server.url,
      modelSettings: Object.assign({}, ...PROVIDERS.map((provider) => provider.settings(server.url))),
    })
  })
  afterAll(async () => {
    await program.close()
    await server.close()
  })

  return {
    get client() {
      return program.client
    },
    get program() {
      return program
    },
    play(...next) {
      completions = [...next]
      played = seen.length
    },
    refuse: (next) => void (reason = next),
    name: (next) => void (named = next),
    requests: () => seen.slice(played),
    newSession: async (agent) => (await program.client.post<{ id: string }>('/v1/sessions', { agent })).id,
    ask: (session, content) =>
      program.client.post(`/v1/sessions/${session}/messages`, { content }, { prefer: 'wait=60' }),
  }
}

const names = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name)

function wireOf(path: string): Wire {
  if (path.endsWith('/chat/completions')) return 'chat'
  if (path.endsWith('/responses')) return 'responses'
  return path.endsWith('/messages') ? 'messages' : 'bedrock'
}

/** A completion with one call. */
export const calling = (
  name: string,
  more: { readonly id?: string; readonly arguments?: string } = {},
): ScriptedCompletion => ({
  parts: [{ type: 'tool_call', id: 'call_1', name, arguments: '{}', ...definedFields(more) }],
})

/** A completion with only a text. */
export const saying = (text: string): ScriptedCompletion => ({ parts: [{ type: 'text', text }] })
