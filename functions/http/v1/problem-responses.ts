import { z } from '@hono/zod-openapi'
import { ProblemSchema } from './fields.ts'

const DESCRIPTIONS = {
  400: 'The request is not valid; `errors` has the paths.',
  401: 'An API key is needed, or the one sent is not known.',
  403: 'The key lacks the scope, or the request comes from a place that is not allowed.',
  404: 'There is no such thing, or not for this key.',
  408: 'Less than 16 KB of the body came within 10 s.',
  409: 'The state of the session does not allow it.',
  413: 'The body has more than 4 MB.',
  415: 'The body is not JSON.',
  416: 'The range lies beyond the end.',
  422: 'The content is not what it says, or a cursor, a place or an order is not one of this list; `errors` has the paths.',
  429: 'Too many requests or active runs for this key.',
  500: 'Something went wrong on our side.',
  502: 'The model gave nothing usable.',
  503: 'A part of the service is not responding now.',
} as const

type ProblemStatus = keyof typeof DESCRIPTIONS
type ProblemResponses<Status extends ProblemStatus> = {
  [S in Status]: {
    description: string
    content: { 'application/problem+json': { schema: typeof ProblemSchema } }
    headers?: z.ZodObject<{ 'retry-after': z.ZodString }>
  }
}

const retryAfter = z.object({ 'retry-after': z.string().openapi({ description: 'Seconds.', example: '1' }) })

/** Describes the error responses of an operation. */
export function problems<Status extends ProblemStatus>(...statuses: Status[]): ProblemResponses<Status> {
  const entries = statuses.map((status) => [
    status,
    {
      description: DESCRIPTIONS[status],
      content: { 'application/problem+json': { schema: ProblemSchema } },
      ...(status === 429 ? { headers: retryAfter } : {}),
    },
  ])
  return Object.fromEntries(entries) as ProblemResponses<Status>
}

/** The problems that any reading operation may return. */
export const READ_PROBLEMS = problems(400, 401, 403, 404, 429, 500, 503)
/** The problems that a list may return. */
export const LIST_PROBLEMS = { ...READ_PROBLEMS, ...problems(422) }
/** The problems that any changing operation may return. */
export const WRITE_PROBLEMS = problems(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503)

export const location = z.object({ location: z.string() })
