/**
 * The part of a client that this adapter uses. Both our own client and the official one, which tests use for
 * inspection, implement it.
 */
export interface SearchClient {
  readonly transport: {
    request(
      request: { method: string; path: string; body?: object; bulkBody?: string },
      options: { ignore: number[] },
    ): PromiseLike<{ readonly statusCode: number | null; readonly body: unknown }>
  }
  close(): Promise<void>
}

export interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** Lines of JSON, for bulk requests. */
  readonly lines?: readonly string[]
}

export interface Response {
  readonly status: number
  readonly body: unknown
}

/** Sends a request. Rejects only if there is no response. An error of the server is a response. */
export type Send = (request: Request) => Promise<Response>

/** An error response of OpenSearch. */
export class OpenSearchError extends Error {
  override readonly name = 'OpenSearchError'
  readonly status: number

  constructor({ method, path }: Request, { status, body }: Response) {
    super(`OpenSearch responded with ${status} to ${method} ${path}: ${JSON.stringify(body).slice(0, 500)}`)
    this.status = status
  }
}

const ERRORS = Array.from({ length: 200 }, (_, index) => 400 + index)

/** Creates the function through which this adapter sends all requests. */
export function createSend(client: SearchClient): Send {
  return async ({ method, path, body, lines }) => {
    const content = lines === undefined ? body && { body } : { bulkBody: `${lines.join('\n')}\n` }
    const response = await client.transport.request({ method, path, ...content }, { ignore: ERRORS })
    return { status: response.statusCode ?? 0, body: response.body }
  }
}

/** Returns the body of a response. Rejects with `OpenSearchError` for any error, except the `allowed` statuses. */
export async function ask<Body>(send: Send, request: Request, allowed: readonly number[] = []): Promise<Body> {
  const response = await send(request)
  if (response.status >= 300 && !allowed.includes(response.status)) throw new OpenSearchError(request, response)
  return response.body as Body
}
