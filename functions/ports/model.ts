import type { AssistantPart, RunErrorCode, ToolCall } from '../domain/messages/message.ts'
import type { ModelRequest } from '../domain/model-request.ts'
import type { Usage } from '../domain/usage/usage.ts'

/** A model's completion of one request. Call ids are as the provider sent them (may be empty or repeated). */
export interface Completion {
  /** In the order produced; the n-th `tool_call` part stands for the n-th of `toolCalls`. */
  readonly parts: readonly AssistantPart[]
  readonly toolCalls: readonly ToolCall[]
  /** `provider/model`, as the provider named it. */
  readonly model: string
  readonly finishReason: string
  readonly usage: Usage
}

export type ModelEvent =
  | { readonly type: 'text.delta' | 'reasoning.delta'; readonly part: number; readonly text: string }
  | {
      readonly type: 'tool_call.delta'
      readonly sequence: number
      readonly toolCallId: string
      readonly toolName: string
      readonly arguments: string
    }
  /** Always the last event of a stream that does not reject. */
  | { readonly type: 'completion'; readonly completion: Completion }

export interface Model {
  /** `provider/model`. */
  readonly name: string
  /**
   * One request, one completion; no retries. Rejects with `ModelError`, also if the stream ends before the completion
   * does, or with the signal's reason if aborted.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}

/** For what a model is asked. */
export interface ModelUse {
  readonly tenant: string
  readonly session: string
  /** Left out for a summary. */
  readonly run?: string
}

/** Opens models by `provider/model`. Rejects with `ModelError` (`invalid_request`, `authentication`) that says what to set. */
export interface Models {
  /** `use`: what operators are told with an error. */
  open(name: string, use?: ModelUse): Promise<Model>
}

export class ModelError extends Error {
  readonly code: Exclude<RunErrorCode, 'crashed_repeatedly' | 'storage'>
  readonly retryable: boolean
  /** From `Retry-After`. */
  readonly retryAfterMs?: number
  /** What the provider says that the request has taken nevertheless. */
  readonly usage?: Usage

  constructor(
    code: ModelError['code'],
    message: string,
    options: { retryable: boolean; retryAfterMs?: number; usage?: Usage; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.code = code
    this.retryable = options.retryable
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options.usage !== undefined) this.usage = options.usage
  }
}
