/** Every failure that callers can meet by name. HTTP statuses are decided in `http/middleware/error-response.ts` alone. */
export type ErrorCode =
  | 'lease_lost'
  | 'session_not_found'
  | 'session_exists'
  | 'session_busy'
  | 'run_not_found'
  | 'message_not_found'
  | 'output_not_found'
  | 'call_not_found'
  | 'answer_conflict'
  | 'idempotency_conflict'
  | 'nothing_to_continue'
  | 'agent_not_found'
  | 'agent_not_allowed'
  | 'too_many_active_runs'
  | 'too_many_open_calls'
  | 'invalid_query'
  | 'search_unavailable'
  | 'storage_failed'

export class TooltrailError extends Error {
  readonly code: ErrorCode
  /** The same request may succeed later. */
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TooltrailError'
    this.code = code
    this.retryable = options.retryable ?? false
  }
}

/** The writer is no longer the session's holder, whatever the reason: it must stop and start nothing. */
export class LeaseLost extends TooltrailError {
  constructor(session: string, generation: number, cause?: unknown) {
    super('lease_lost', `session ${session}: generation ${generation} no longer holds the lease`, { cause })
    this.name = 'LeaseLost'
  }
}
