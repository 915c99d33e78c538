import { jsonText } from '../../log/json/well-formed.ts'
import type { Problem } from './request-error.ts'

/** Whether the path belongs to the API for OpenAI's clients. */
export const isOpenAiPath = (path: string): boolean => path.startsWith('/openai/v1/')

const TYPES: { readonly [status: number]: string } = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Statuses that OpenAI's clients would retry by themselves, although a retry is useless or harmful. */
const FINAL = new Set([409, 502, 504])

export interface OpenAiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/**
 * Converts a problem to an error in the format of OpenAI's API. `param` is the first wrong field, by its name in the
 * request.
 */
export function openAiErrorOf({ status, code, detail, errors }: Problem): OpenAiError {
  const [first] = errors ?? []
  return {
    message: detail.toWellFormed(),
    type: TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: first?.path.replace(/^(?:body|query|path|header)\./, '') ?? null,
    code,
  }
}

/** The error response under OpenAI's paths. */
export function openAiError(problem: Problem): Response {
  const headers = {
    ...problem.headers,
    ...(FINAL.has(problem.status) ? { 'x-should-retry': 'false' } : {}),
    'cache-control': 'no-store',
  }
  const body = jsonText({ error: openAiErrorOf(problem) })
  return new Response(body, { status: problem.status, headers: { ...headers, 'content-type': 'application/json' } })
}
