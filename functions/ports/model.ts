import type { Delta } from '../domain/events.ts'
import type { AssistantPart, RunErrorCode, ToolCall } from '../domain/messages/message.ts'
import type { ModelRequest } from '../domain/model-request.ts'
import type { Usage } from '../domain/usage/usage.ts'

/** A model's completion of one request. Call ids are as the provider sent them; they may be empty or repeated. */
export interface Completion {
  /**
   * The parts in the order in which they were produced. The n-th `tool_call` part refers to the n-th of `toolCalls`.
   */
  readonly parts: readonly AssistantPart[]
  readonly toolCalls: readonly ToolCall[]
  /** The full name `provider/model`. The part `model` is the provider's own name of the model. */
  readonly model: string
  readonly finishReason: string
  readonly usage: Usage
}

export type ModelEvent =
  | Delta
  /** Always the last event of a stream that does not reject. */
  | { readonly type: 'completion'; readonly completion: Completion }

export interface Model {
  /** The full name: `provider/model`. */
  readonly name: string
  /**
   * Sends one request and streams its completion, without retries. Rejects with `ModelError`, also if the stream ends
   * before the completion does. If aborted, rejects with the signal's reason.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}

/** The session and run that a model is used for. */
export interface ModelUse {
  readonly tenant: string
  readonly session: string
  /** Absent for a summary. */
  readonly run?: string
}

/**
 * Opens models by `provider/model`. Rejects with a `ModelError` (`invalid_request`, `authentication`) that names the setting to
 * correct.
 */
export interface Models {
  /** Opens a model. `use` is logged with the model's errors, for operators. */
  open(name: string, use?: ModelUse): Promise<Model>
}

/** The sizes in a provider's refusal of a request that is too long. */
export interface RefusedSize {
  /** Maximum number of tokens in the request. The rest of the model's context is needed for the requested output. */
  readonly maxTokens?: number
  /** Number of tokens in the refused request without its output, as the provider counted them. It exceeds `maxTokens`. */
  readonly tokens?: number
  /** Set if the refusal has an error code for requests that are too long. */
  readonly isCoded?: true
}

export class ModelError extends Error {
  readonly code: Exclude<RunErrorCode, 'crashed_repeatedly' | 'storage'>
  readonly retryable: boolean
  /** The wait that the response demands in `Retry-After`. */
  readonly retryAfterMs?: number
  /** The usage that the provider reports for the failed request. */
  readonly usage?: Usage
  /** HTTP status of the response, if there was one. */
  readonly status?: number
  /** With `context_length`: the sizes that the provider's refusal names. */
  readonly size?: RefusedSize
  /** The index of the message that the provider's refusal names, among the request's messages. */
  readonly messageIndex?: number
  /** Number of the stream's frames, if all of them have an unknown format. */
  readonly unknownFrames?: number

  constructor(
    code: ModelError['code'],
    message: string,
    options: {
      retryable: boolean
      retryAfterMs?: number
      usage?: Usage
      status?: number
      size?: RefusedSize
      messageIndex?: number
      unknownFrames?: number
      cause?: unknown
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options.usage !== undefined) this.usage = options.usage
    if (options.status !== undefined) this.status = options.status
    if (options.size !== undefined) this.size = options.size
    if (options.messageIndex !== undefined) this.messageIndex = options.messageIndex
    if (options.unknownFrames !== undefined) this.unknownFrames = options.unknownFrames
  }
}

/** Statuses with which a provider refuses the content of a request. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 413, 422])

/**
 * Whether the provider refuses the request because of its size or its content, so that the unchanged request would fail again.
 */
export const isRefusal = ({ code, status }: ModelError): boolean =>
  code === 'context_length' || (code === 'invalid_request' && REFUSALS.has(status))

/**
 * Whether the provider reports only that the request is too large (status 413). The request may have too many tokens or too many
 * bytes.
 */
export const isTooLarge = ({ code, status, size }: ModelError): boolean =>
  code === 'context_length' && status === 413 && size === undefined

/** Whether the provider may accept another form of the request. False if it reports that the conversation is too long. */
export const isRepairable = (error: ModelError): boolean =>
  isTooLarge(error) || (isRefusal(error) && error.code !== 'context_length')
