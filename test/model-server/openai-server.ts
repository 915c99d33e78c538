import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { OpenAiMessage } from '../../functions/log/formats/openai-format.ts'
import { chatFrames } from './chat-frames.ts'
import type { RecordedRequest, Reply } from './recording-server.ts'
import { startRecordingServer } from './recording-server.ts'
import type { ScriptedCompletion, ScriptedPart } from './scripted-completion.ts'

/**
 * Response of the server to one request. It is either a stream or a refusal. A stream contains a completion, given as parts or as
 * a recorded assistant message. It is cut after `cutAfter` frames, or silent after `hangAfter` frames. A refusal has a status and
 * headers such as `Retry-After`.
 */
export type OpenAiStep =
  | {
      readonly completion: ScriptedCompletion | RecordedCompletion
      readonly cutAfter?: number
      readonly hangAfter?: number
    }
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: object }

/** An assistant message in the format of Chat Completions logs. */
interface RecordedCompletion {
  readonly role: 'assistant'
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly pieceSize?: number
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly OpenAiMessage[]
  readonly tools?: readonly { readonly type: 'function'; readonly function: { readonly name: string } }[]
  readonly tool_choice?: unknown
  readonly stream?: boolean
  readonly max_tokens?: number
}

export interface OpenAiServer {
  /** Value for `MODEL_BASE_URL`. */
  readonly baseUrl: string
  readonly requests: readonly RecordedRequest[]
  /** Parsed bodies of all requests so far. */
  bodies(): ChatRequest[]
  close(): Promise<void>
}

/**
 * Starts a local server for Chat Completions. It records each request and responds with the next step of the script, or with the
 * step that a script function returns. A request beyond the script gets status 500, never an invented completion.
 */
export async function startOpenAiServer(
  script: readonly OpenAiStep[] | ((request: ChatRequest, index: number) => OpenAiStep | Promise<OpenAiStep>),
): Promise<OpenAiServer> {
  const server = await startRecordingServer(async (request, index) => {
    if (request.path !== '/v1/chat/completions') return toReply({ status: 404 })
    const step =
      typeof script === 'function' ? await script(JSON.parse(request.body) as ChatRequest, index) : script[index]
    return toReply(step ?? { status: 500, body: { error: { message: `the script has no step ${index}` } } })
  })
  return {
    baseUrl: `${server.url}/v1`,
    requests: server.requests,
    bodies: () => server.requests.map((request) => JSON.parse(request.body) as ChatRequest),
    close: server.close,
  }
}

function toReply(step: OpenAiStep): Reply {
  if ('status' in step) {
    const body = step.body ?? { error: { message: `status ${step.status}`, type: 'scripted' } }
    return {
      status: step.status,
      headers: { 'content-type': 'application/json', ...step.headers },
      frames: [JSON.stringify(body)],
    }
  }
  const frames = chatFrames('role' in step.completion ? scripted(step.completion) : step.completion)
  const headers = { 'content-type': 'text/event-stream' }
  if (step.hangAfter !== undefined) return { headers, frames: frames.slice(0, step.hangAfter), end: 'hang' }
  return { headers, frames: frames.slice(0, step.cutAfter), end: step.cutAfter === undefined ? 'close' : 'break' }
}

function scripted(completion: RecordedCompletion): ScriptedCompletion {
  const calls = (completion.tool_calls ?? []).map((call): ScriptedPart => ({
    type: 'tool_call',
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  }))
  const text: ScriptedPart[] = completion.content ? [{ type: 'text', text: completion.content }] : []
  return {
    parts: [...text, ...calls],
    ...definedFields({ pieceSize: completion.pieceSize }),
  }
}
