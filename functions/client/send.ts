import { problemOf, refuseRedirect } from './problem.ts'

/** Status of a response to `if-none-match` if the page is unchanged. */
export const NOT_MODIFIED = 304

type Query = { readonly [name: string]: string | number | boolean | undefined }

/** One request of the API. */
export interface Call {
  readonly query?: object | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  /** JSON lines, sent unchanged. */
  readonly lines?: string | ReadableStream<Uint8Array> | undefined
  readonly headers?: { readonly [name: string]: string }
  readonly signal?: AbortSignal | undefined
  /** Whether a browser finishes the request even if the page that sent it is closed. */
  readonly keepalive?: boolean
}

export type Send = (method: string, path: string, call: Call) => Promise<Response>

interface SenderOptions {
  readonly url: string
  /** The key, or a function that returns it for each request. */
  readonly key?: string | (() => string | undefined | Promise<string>) | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Returns a function that sends requests with the key. It throws every error response as an `ApiProblem`. */
export function createSender({ url, key, fetch = globalThis.fetch }: SenderOptions): Send {
  const base = url.replace(/\/+$/, '')
  return async (method, path, { query = {}, body, lines, headers, signal, keepalive = false }) => {
    const secret = typeof key === 'function' ? await key() : key
    const given = Object.entries(query as Query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    )
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
    const response = await fetch(`${base}${path}${search}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(lines === undefined ? {} : { 'content-type': 'application/x-ndjson' }),
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(lines === undefined ? {} : { body: lines, duplex: 'half' as const }),
      ...(signal === undefined ? {} : { signal }),
      ...(keepalive ? { keepalive } : {}),
      redirect: 'manual',
    })
    if (response.status === NOT_MODIFIED && headers?.['if-none-match'] !== undefined) return response
    refuseRedirect(response)
    if (!response.ok) throw await problemOf(response)
    return response
  }
}
