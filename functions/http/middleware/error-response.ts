import { randomUUID } from 'node:crypto'
import { HTTPException } from 'hono/http-exception'
import type { Context } from 'hono'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import type { Logger } from '../../ports/logger.ts'
import type { AppEnv } from '../dependencies.ts'
import { isOpenAiPath, openAiError } from './openai-error.ts'
import { RequestError } from './request-error.ts'
import type { Problem } from './request-error.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** The only place that maps errors to HTTP statuses. */
const STATUSES: { readonly [code in ErrorCode]: number } = {
  lease_lost: 503,
  session_not_found: 404,
  deletion_not_found: 404,
  session_exists: 409,
  session_busy: 409,
  summarised: 409,
  run_not_found: 404,
  message_not_found: 404,
  output_not_found: 404,
  call_not_found: 404,
  callback_not_found: 404,
  ambiguous_call: 409,
  resolution_conflict: 409,
  idempotency_conflict: 409,
  import_gap: 409,
  import_changed: 409,
  nothing_to_continue: 409,
  nothing_to_consolidate: 409,
  nothing_to_send: 422,
  run_not_active: 409,
  summary_failed: 502,
  agent_not_found: 409,
  agent_not_allowed: 403,
  owner_not_allowed: 403,
  too_many_active_runs: 429,
  too_many_open_calls: 429,
  key_tokens_used_up: 429,
  tenant_budget_used_up: 429,
  invalid_query: 400,
  cursor_not_found: 422,
  search_unavailable: 503,
  storage_failed: 503,
}

const TITLES: { readonly [status: number]: string } = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  413: 'Content too large',
  415: 'Unsupported media type',
  422: 'Content not usable',
  416: 'Range not satisfiable',
  429: 'Too many requests',
  500: 'Internal server error',
  502: 'Bad gateway',
  503: 'Service unavailable',
  504: 'Gateway timeout',
}

const HTTP_CODES: { readonly [status: number]: string } = {
  400: 'malformed_body',
  404: 'not_found',
  413: 'content_too_large',
  415: 'unsupported_media_type',
}

/** Details for errors whose own message does not say what to do. */
const DETAILS: { readonly [status: number]: string } = {
  400: 'the body is not JSON',
  415: 'the body must be JSON, and say so: content-type: application/json',
}

/** Seconds after which a temporarily rejected request may be retried. */
const RETRY_SECONDS = 5

/**
 * Converts any error to a response with `application/problem+json`. An unexpected error is logged with its stack and
 * shown only as 500. A temporary rejection (overload, or a stopping server) is logged without a stack, because nothing
 * has failed.
 */
export function errorResponse(error: Error, c: Context<AppEnv>, log: Logger): Response {
  const problem = describeError(error)
  const fields = { request_id: c.get('requestId'), code: problem.code }
  if (problem.status >= 500 && error instanceof RequestError)
    log.warn('request refused', { ...fields, reason: problem.detail })
  else if (problem.status >= 500) log.error('request failed', error, fields)
  return problemResponse(c, problem)
}

/**
 * Returns a problem document with the request's id and path. Under OpenAI's paths, returns an error in the format of
 * OpenAI's API.
 */
export function problemResponse(c: Context<AppEnv>, problem: Problem): Response {
  const instance = new URL(c.req.url).pathname.slice(0, 512)
  if (isOpenAiPath(instance)) return openAiError(problem)
  return problemDocument(problem, { instance, request_id: c.get('requestId') })
}

/** The 405 response of a path that has only these methods. */
export const refuseMethod = (c: Context<AppEnv>, methods: readonly string[]): Response =>
  problemResponse(c, {
    status: 405,
    code: 'method_not_allowed',
    detail: `${c.req.method.slice(0, 32)} is not among ${methods.join(', ')}`,
    headers: { allow: methods.join(', ') },
  })

/**
 * The response to a malformed request. No route receives such a request, because its host or address cannot be read.
 */
export function unreadableRequest(error: unknown): Response {
  const detail = `the request cannot be read: ${error instanceof Error ? error.message : 'it is malformed'}`
  return problemDocument({ status: 400, code: 'malformed_request', detail }, { request_id: randomUUID() })
}

function problemDocument(problem: Problem, of: { readonly request_id: string; readonly instance?: string }): Response {
  const document = {
    type: `urn:tooltrail:problem:${problem.code}`,
    title: TITLES[problem.status] ?? 'Error',
    status: problem.status,
    detail: problem.detail.toWellFormed(),
    ...of,
    ...definedFields({ errors: problem.errors }),
  }
  return new Response(jsonText(document), {
    status: problem.status,
    headers: { ...problem.headers, 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  })
}

/** The problem document for any error. */
export function describeError(error: Error): Problem {
  if (error instanceof RequestError)
    return error.errors === undefined ? plain(error) : { ...plain(error), errors: error.errors }
  if (error instanceof TooltrailError) return describeTooltrailError(error)
  if (error instanceof HTTPException) {
    const status = error.status in TITLES ? error.status : 400
    return { status, code: HTTP_CODES[status] ?? 'http_error', detail: DETAILS[status] ?? error.message }
  }
  return {
    status: 500,
    code: 'internal',
    detail: 'something went wrong on our side; the request id tells us where to look',
  }
}

const plain = (error: RequestError): Problem => ({
  status: error.status,
  code: error.code,
  detail: error.message,
  headers: error.headers,
})

/** A write may have succeeded although its response was lost. */
const STORAGE_FAILED =
  'the storage did not respond, and the request may have been executed: retry it with the same Idempotency-Key'

function describeTooltrailError(error: TooltrailError): Problem {
  const status = STATUSES[error.code]
  const later = status === 429 || status === 503
  return {
    status,
    code: error.code,
    // The detail must not contain the store's own message, which may name paths and hosts.
    detail: error.code === 'storage_failed' ? STORAGE_FAILED : error.message,
    ...(error.code === 'cursor_not_found' ? { errors: [{ path: 'query.after', message: error.message }] } : {}),
    ...(later ? { headers: { 'retry-after': String(error.retryAfterSeconds ?? RETRY_SECONDS) } } : {}),
  }
}
