import type { Problem } from './request-error.ts'

/** Whether the path belongs to the API that OpenAI's clients speak. */
export const isOpenAiPath = (path: string): boolean => path.startsWith('/openai/v1/')

const TYPES: { readonly [status: number]: string } = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** Those that its clients would send again by themselves, and that would do harm or no good a second time. */
const FINAL = new Set([409, 502, 504])

export interface OpenAiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** An error as OpenAI's API says it. `param` is the first wrong field, as its caller named it. */
export function openAiErrorOf({ status, code, detail, errors }: Problem): OpenAiError {
  const [first] = errors ?? []
  return {
    message: detail.toWellFormed(),
    type: TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: first?.path.replace(/^(?:body|query|path|header)\./, '') ?? null,
    code,
  }
}

/** A refusal under OpenAI's paths. */
export function openAiError(problem: Problem): Response {
  const headers = {
    ...problem.headers,
    ...(FINAL.has(problem.status) ? { 'x-should-retry': 'false' } : {}),
    'cache-control': 'no-store',
  }
  return Response.json({ error: openAiErrorOf(problem) }, { status: problem.status, headers })
}
