import { request as plainRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { useAgent } from 'request-filtering-agent'
import { requireNotInternal, withoutInternal } from './more-internal-addresses.ts'

const MAX_REDIRECTS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

export interface FetchRequest {
  readonly url: string
  readonly method: 'GET' | 'HEAD'
  readonly signal: AbortSignal
  /** Addresses that are allowed even if they are not public. */
  readonly allowedAddresses: readonly string[]
  readonly lookup?: LookupFunction
}

/**
 * Sends a request to a public web server and follows its redirects. Each address is checked when its connection is
 * made. So neither a redirect nor a host name with changing addresses can lead to an internal host. The caller must
 * consume or destroy the response.
 */
export async function guardedRequest(request: FetchRequest): Promise<{ url: URL; response: IncomingMessage }> {
  let url = webUrl(request.url)
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await ask(request, url)
    const { statusCode = 0, headers } = response
    if (!REDIRECTS.has(statusCode) || headers.location === undefined) return { url, response }
    response.destroy()
    url = webUrl(headers.location, url)
  }
  throw new Error(`${request.url} redirects more than ${MAX_REDIRECTS} times`)
}

function webUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw new TypeError(`${text} is not a URL`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError(`${text} is not an http(s) URL`)
  if (url.username !== '' || url.password !== '') throw new TypeError('a URL with a user name or password is refused')
  return url
}

function ask({ method, signal, allowedAddresses, lookup }: FetchRequest, url: URL): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? secureRequest : plainRequest
  const agent = useAgent(url.href, { allowIPAddressList: [...allowedAddresses] })
  const guarded = withoutInternal(allowedAddresses, lookup)
  return new Promise((resolve, reject) => {
    try {
      requireNotInternal(url, allowedAddresses)
    } catch (cause) {
      reject(unreachable(url, cause as Error))
      return
    }
    const headers = { 'user-agent': 'tooltrail', accept: '*/*', 'accept-encoding': 'gzip, deflate, br' }
    send(url, { method, signal, agent, headers, lookup: guarded }, resolve)
      .on('error', (cause) => reject(signal.aborted ? cause : unreachable(url, cause)))
      .end()
  })
}

/** Returns the reason without the rejected address, because a model must not learn internal names and addresses. */
function unreachable(url: URL, cause: Error): Error {
  const reason = /is not allowed/.test(cause.message) ? 'its address is not a public one' : cause.message
  return new Error(`${url.host} cannot be reached: ${reason}`, { cause })
}
