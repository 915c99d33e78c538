/** All failures that callers can identify. Only `http/middleware/error-response.ts` maps them to HTTP statuses. */
export type ErrorCode =
  | 'lease_lost'
  | 'session_not_found'
  | 'deletion_not_found'
  | 'session_exists'
  | 'session_busy'
  | 'summarised'
  | 'run_not_found'
  | 'message_not_found'
  | 'output_not_found'
  | 'call_not_found'
  | 'callback_not_found'
  | 'ambiguous_call'
  | 'resolution_conflict'
  | 'idempotency_conflict'
  | 'import_gap'
  | 'import_changed'
  | 'nothing_to_continue'
  | 'nothing_to_consolidate'
  | 'nothing_to_send'
  | 'run_not_active'
  | 'summary_failed'
  | 'agent_not_found'
  | 'agent_not_allowed'
  | 'owner_not_allowed'
  | 'too_many_active_runs'
  | 'too_many_open_calls'
  | 'key_tokens_used_up'
  | 'tenant_budget_used_up'
  | 'invalid_query'
  | 'cursor_not_found'
  | 'search_unavailable'
  | 'storage_failed'

export class TooltrailError extends Error {
  readonly code: ErrorCode
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** Seconds after which the request may succeed; undefined if unknown. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryable?: boolean; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TooltrailError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/**
 * Whether a store failed. The text of such an error may name paths, hosts and accounts, so it is only for operators.
 */
export const isStorageFailure = (error: unknown): boolean =>
  error instanceof TooltrailError && error.code === 'storage_failed'

/** Whether the store or the search failed. Such an error is always logged for operators. */
export const isOutage = (error: unknown): boolean =>
  isStorageFailure(error) || (error instanceof TooltrailError && error.code === 'search_unavailable')

/** The writer no longer holds the session's lease, whatever the reason: it must stop and start nothing. */
export class LeaseLost extends TooltrailError {
  constructor(session: string, generation: number, cause?: unknown) {
    super('lease_lost', `session ${session}: generation ${generation} no longer holds the lease`, { cause })
    this.name = 'LeaseLost'
  }
}
