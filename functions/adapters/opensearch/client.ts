import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { Sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'
import type { SearchClient } from './requests.ts'

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Settings for signing requests to AWS; a node of your own needs none. */
export interface Signing {
  readonly region: string
  /** `aoss`: OpenSearch Serverless; `es`: a managed domain. */
  readonly service: 'aoss' | 'es'
  /** Called before each request. The function caches the credentials and renews them in time. */
  readonly credentials: () => Promise<Credentials>
}

const TIMEOUT_MS = 10_000
/**
 * Request timeout. A sleeping serverless collection wakes in 10 to 30 s, and only then responds to the first request.
 */
const WAKING_MS = 40_000
/** Errors of a kept-alive connection that the other side has closed, for example while a function was frozen. */
const STALE = new Set(['ECONNRESET', 'EPIPE'])

interface Dependencies {
  readonly endpoint: string
  readonly signing?: Signing
}

/**
 * Creates a client, which signs its requests if `signing` is given. It implements only what this adapter needs, because
 * the official client would load 300 kB at each cold start.
 * It tries each request once, and a second time only if a kept-alive connection was closed. Callers decide about other
 * retries.
 */
export function createOpenSearchClient({ endpoint, signing }: Dependencies): SearchClient {
  const base = new URL(endpoint)
  const secure = base.protocol === 'https:'
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
  const timeoutMs = signing?.service === 'aoss' ? WAKING_MS : TIMEOUT_MS
  const signer = signing === undefined ? undefined : new SignatureV4({ ...signing, sha256: Sha256 })
  const root = base.pathname.replace(/\/$/, '')

  async function send(method: string, path: string, type: string, body: string): Promise<IncomingMessage> {
    const plain = { host: base.host, accept: 'application/json', ...(body === '' ? {} : { 'content-type': type }) }
    const target = { method, protocol: base.protocol, hostname: base.hostname, path, headers: plain, body }
    const signed = signer === undefined ? plain : (await signer.sign(target)).headers
    // These headers are not signed: OpenSearch Serverless would reject the signature (its guide, "Signing requests").
    const headers = { ...signed, ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }) }
    const signal = AbortSignal.timeout(timeoutMs)
    const attempt = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const start = secure ? httpsRequest : httpRequest
        const request = start(new URL(path, base), { method, headers, agent, signal }, resolve)
        request.on('error', (cause: NodeJS.ErrnoException) => {
          const stale = request.reusedSocket && STALE.has(cause.code ?? '')
          reject(
            new Error(`OpenSearch did not respond to ${method} ${path}: ${cause.message}`, { cause: { cause, stale } }),
          )
        })
        request.end(body)
      })
    try {
      return await attempt()
    } catch (error) {
      const { stale } = (error as Error).cause as { readonly stale: boolean }
      if (stale) return attempt()
      throw error
    }
  }

  return {
    transport: {
      async request({ method, path, body, bulkBody }) {
        const content = bulkBody ?? (body === undefined ? '' : JSON.stringify(body))
        const type = bulkBody === undefined ? 'application/json' : 'application/x-ndjson'
        const response = await send(method, root + path, type, content)
        const text = (await buffer(response)).toString()
        const json = response.headers['content-type']?.includes('json') === true && text !== ''
        return { statusCode: response.statusCode ?? null, body: json ? (JSON.parse(text) as unknown) : text }
      },
    },
    close: async () => agent.destroy(),
  }
}
