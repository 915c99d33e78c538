import type { Client } from '@opensearch-project/opensearch'

export interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Lines of JSON, for bulk requests. */
  readonly lines?: readonly string[]
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Sends a request; rejects only when there is no answer. Errors of the server are answers. */
export type Send = (request: Request) => Promise<Answer>

/** OpenSearch answered with an error. */
export class OpenSearchError extends Error {
  override readonly name = 'OpenSearchError'
  readonly status: number

  constructor({ method, path }: Request, { status, body }: Answer) {
    super(`OpenSearch answered ${status} to ${method} ${path}: ${JSON.stringify(body).slice(0, 500)}`)
    this.status = status
  }
}

const ERRORS = Array.from({ length: 200 }, (_, index) => 400 + index)

/** The one way in which this adapter talks to OpenSearch. */
export function createSend(client: Client): Send {
  return async ({ method, path, body, lines }) => {
    const content = lines === undefined ? body && { body } : { bulkBody: `${lines.join('\n')}\n` }
    const answer = await client.transport.request({ method, path, ...content }, { ignore: ERRORS })
    return { status: answer.statusCode ?? 0, body: answer.body as unknown }
  }
}

/** The body of an answer; rejects with `OpenSearchError` for any error but those of `allowed`. */
export async function ask<Body>(send: Send, request: Request, allowed: readonly number[] = []): Promise<Body> {
  const answer = await send(request)
  if (answer.status >= 300 && !allowed.includes(answer.status)) throw new OpenSearchError(request, answer)
  return answer.body as Body
}
