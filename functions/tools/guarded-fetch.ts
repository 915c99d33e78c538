import { request as plainRequest } from 'node:http'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { useAgent } from 'request-filtering-agent'
import { isAllowedHost, refusedAddress } from './allowed-hosts.ts'
import { requireNotInternal, withoutInternal } from './more-internal-addresses.ts'

/**
 * Limits of a response: bytes of its body, and milliseconds from the start of the request to the end of the response.
 */
export interface ResponseLimits {
  readonly bytes: number
  readonly milliseconds: number
}

export interface GuardedRequest {
  readonly method: string
  readonly headers: Headers
  readonly body?: string
  readonly signal?: AbortSignal
  readonly limits: ResponseLimits
  /** Hosts that may be internal and use plain HTTP, as `host` or `host:port`. */
  readonly allowedHosts: readonly string[]
  /** Resolves names to addresses. @default the machine's own resolver */
  readonly lookup?: LookupFunction
  /** Whether the program may end while the response is open. */
  readonly isBackground?: boolean
}

/**
 * Sends one request to a server that an operator has named, and follows no redirect. The address is checked when the
 * connection is made, so no host name leads to an internal address, unless this address is allowed. If the body exceeds
 * a limit, reading it fails. Rejects with a message that names the host but no address.
 */
export async function guardedFetch(url: URL, request: GuardedRequest): Promise<Response> {
  const refused = refusedAddress(url, request.allowedHosts)
  if (refused !== undefined) throw new TypeError(`${url.host} ${refused}`)
  const { signal, limits } = request
  const tooLong = AbortSignal.timeout(limits.milliseconds)
  const over = signal === undefined ? tooLong : AbortSignal.any([signal, tooLong])
  const response = await send(url, request, over)
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') {
    response.destroy()
    throw new Error(`${url.host} compresses its response, although it was asked not to`)
  }
  const headers = new Headers()
  for (let at = 0; at < response.rawHeaders.length; at += 2)
    headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
  const { statusCode: status = 502, statusMessage: statusText = '' } = response
  const hasBody = ![204, 205, 304].includes(status)
  if (!hasBody) response.destroy()
  return new Response(hasBody ? bodyOf(url, response, limits.bytes) : null, {
    status: status < 200 || status > 599 ? 502 : status,
    statusText,
    headers,
  })
}

function send(url: URL, request: GuardedRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, headers, body, allowedHosts, lookup } = request
  const ask = url.protocol === 'https:' ? secureRequest : plainRequest
  const sent = { ...Object.fromEntries(headers), 'user-agent': 'tooltrail', 'accept-encoding': 'identity' }
  const options: RequestOptions = { method, signal, headers: sent, ...(lookup && { lookup }) }
  return new Promise((resolve, reject) => {
    try {
      if (!isAllowedHost(url, allowedHosts)) {
        requireNotInternal(url, [])
        Object.assign(options, { agent: useAgent(url.href), lookup: withoutInternal([], lookup) })
      } else options.agent = false
      const asked = ask(url, options, resolve).on('error', (cause) =>
        reject(signal.aborted ? cause : unreachable(url, cause)),
      )
      if (request.isBackground === true) asked.on('socket', (socket) => socket.unref())
      asked.end(body)
    } catch (cause) {
      reject(unreachable(url, cause as Error))
    }
  })
}

/** Returns the reason without the rejected address, because a model may see it. */
function unreachable(url: URL, cause: Error): Error {
  const code = (cause as NodeJS.ErrnoException).code
  const reason = /is not allowed/.test(cause.message) ? 'its address is not a public one' : (code ?? cause.message)
  return new Error(`${url.host} cannot be reached: ${reason}`, { cause })
}

/** Returns the body as a stream. Cancelling the stream closes the connection at once, even before anything was read. */
function bodyOf(url: URL, response: IncomingMessage, most: number): ReadableStream<Uint8Array> {
  const pieces = bounded(url, response, most)
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: () => void response.destroy(),
    },
    { highWaterMark: 0 },
  )
}

async function* bounded(url: URL, response: IncomingMessage, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength
      if (bytes > most) throw new RangeError(`${url.host} sent more than the limit of ${most} bytes`)
      yield chunk
    }
  } finally {
    response.destroy()
  }
}
