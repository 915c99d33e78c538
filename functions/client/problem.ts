import type { Problem } from './api-types.ts'

/** A refusal of the API, or a response that is none of its own: then `problem` says so in the same shape. */
export class ApiProblem extends Error {
  readonly status: number
  /** The last part of the problem's `type`, such as `session_not_found`. */
  readonly code: string
  readonly problem: Problem
  /** Milliseconds after which to try again, if the response said so. */
  readonly retryAfterMs: number | undefined

  constructor(problem: Problem, retryAfterMs: number | undefined) {
    super(problem.detail)
    this.name = 'ApiProblem'
    this.status = problem.status
    this.code = problem.type.split(':').at(-1) ?? 'unknown'
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** Reads what a response that is not `ok` says. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  // A refusal whose body breaks off is one all the same: its status tells.
  const text = await response.text().catch(() => '')
  const type = response.headers.get('content-type') ?? ''
  const sent = type.startsWith('application/problem+json') ? fieldsOf(text) : {}
  const problem = { ...foreign(response, text), ...sent, status: response.status }
  return new ApiProblem(problem, Number.isFinite(seconds) ? seconds * 1000 : undefined)
}

/** What a problem says of itself: it may leave out any field (RFC 9457), and be cut short. */
function fieldsOf(text: string): Partial<Problem> {
  const said = parsed(text)
  if (typeof said !== 'object' || said === null) return {}
  const { title } = said as Partial<Problem>
  const fields = Object.entries({ ...(title === undefined ? {} : { detail: title }), ...said })
  return Object.fromEntries(fields.filter(([name, value]) => !TEXTS.has(name) || typeof value === 'string'))
}

const TEXTS = new Set(['type', 'title', 'detail', 'instance', 'request_id'])

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON of an `ok` response. Throws `unexpected_response` for any other body, and for one that was cut short. */
export async function jsonOf<Result>(response: Response): Promise<Result> {
  const text = await (await expectType(response, 'application/json')).text()
  const value = parsed(text)
  if (value === undefined) throw new ApiProblem(foreign(response, text), undefined)
  return value as Result
}

/** Throws `unexpected_response` for a redirect: whoever follows it loses the method and the key. In a browser it says nothing else. */
export function refuseRedirect(response: Response): void {
  const { status, headers, type } = response
  if (type !== 'opaqueredirect' && !(status >= 300 && status < 400)) return
  const where = headers.get('location')
  const detail = `the address redirects ${where === null ? 'elsewhere' : `to ${where}`}: use that one`
  throw new ApiProblem({ ...foreign(response, ''), detail }, undefined)
}

/** Returns an `ok` response of this type. Throws `unexpected_response` where something else than the API has responded. */
export async function expectType(response: Response, type: string): Promise<Response> {
  if ((response.headers.get('content-type') ?? '').startsWith(type)) return response
  throw new ApiProblem(foreign(response, await response.text()), undefined)
}

/** Something between the client and the API has responded. */
const foreign = (response: Response, text: string): Problem => ({
  type: 'urn:tooltrail:problem:unexpected_response',
  title: response.statusText,
  status: response.status,
  detail: `the response is not one of Tooltrail: ${response.status} ${text.slice(0, 200)}`,
  instance: URL.canParse(response.url) ? new URL(response.url).pathname : '',
  request_id: response.headers.get('x-request-id') ?? '',
})
