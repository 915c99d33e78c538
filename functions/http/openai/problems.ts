import { OpenAiErrorSchema } from './chat/chat-schemas.ts'

type Refusals<Status extends number> = {
  [S in Status]: { description: string; content: { 'application/json': { schema: typeof OpenAiErrorSchema } } }
}

/** Describes the error responses of an operation under OpenAI's paths. */
export function openAiProblems<Status extends number>(...statuses: Status[]): Refusals<Status> {
  const described = {
    description: 'Refused; `error` says why.',
    content: { 'application/json': { schema: OpenAiErrorSchema } },
  }
  return Object.fromEntries(statuses.map((status) => [status, described])) as Refusals<Status>
}

/** The error responses of any reading operation. */
export const OPENAI_READ_PROBLEMS = openAiProblems(400, 401, 403, 404, 429, 500, 503)
/** The error responses of an operation that creates something. */
export const OPENAI_CREATE_PROBLEMS = openAiProblems(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)
