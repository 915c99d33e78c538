import type { LookupFunction } from 'node:net'
import { ImageUnavailable, tooLarge } from '../ports/image-source.ts'
import type { ImageSource, OpenImage } from '../ports/image-source.ts'
import { refusedAddress } from './allowed-hosts.ts'

const LIMIT_MS = 10_000
const MAX_REDIRECTS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const REFUSED_REDIRECT = 'cannot be fetched: it redirects to an address that is refused'
const ACCEPT = 'image/png, image/jpeg, image/gif, image/webp, image/*;q=0.8'

export interface ImageSourceSettings {
  /** Hosts that may be internal and use plain HTTP, as `host` or `host:port`. */
  readonly allowedHosts: readonly string[]
  /** Resolves names to addresses. @default the machine's own resolver */
  readonly lookup?: LookupFunction
  readonly limitMs?: number
}

/**
 * Creates the source of images that are given by address. The guard checks the first address and each redirect.
 * Requests have no credentials. Error messages do not name the host of a redirect, because it may be internal.
 */
export function createImageSource({ allowedHosts, lookup, limitMs = LIMIT_MS }: ImageSourceSettings): ImageSource {
  return {
    async open(url, signal) {
      const tooLong = AbortSignal.timeout(limitMs)
      const over = AbortSignal.any([signal, tooLong])
      const unavailable = (error: unknown): ImageUnavailable => {
        signal.throwIfAborted()
        if (error instanceof ImageUnavailable) return error
        const reason = tooLong.aborted ? `did not arrive within ${limitMs / 1_000} s` : reasonOf(error)
        return new ImageUnavailable(reason, { cause: error })
      }
      try {
        // The address tables of the guard are large, so they are loaded with the first image.
        const { guardedFetch } = await import('./guarded-fetch.ts')
        const limits = { bytes: Infinity, milliseconds: limitMs }
        const headers = new Headers({ accept: ACCEPT })
        const request = { method: 'GET', headers, signal: over, limits, allowedHosts, ...(lookup && { lookup }) }
        const first = URL.parse(url)
        if (first === null) throw new ImageUnavailable('cannot be fetched: its address is not a URL')
        const response = await followRedirects(first, (address) => {
          const refused = refusedAddress(address, allowedHosts)
          if (refused === undefined) return guardedFetch(address, request)
          throw new ImageUnavailable(address === first ? `cannot be fetched: its address ${refused}` : REFUSED_REDIRECT)
        })
        return await openImage(response, unavailable)
      } catch (error) {
        throw unavailable(error)
      }
    },
  }
}

async function followRedirects(first: URL, get: (url: URL) => Promise<Response>): Promise<Response> {
  let url = first
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await get(url)
    const location = response.headers.get('location')
    if (!REDIRECTS.has(response.status) || location === null) return response
    await response.body?.cancel()
    const next = URL.parse(location, url.href)
    if (next === null) throw new ImageUnavailable(REFUSED_REDIRECT)
    url = next
  }
  throw new ImageUnavailable(`cannot be fetched: it redirects more than ${MAX_REDIRECTS} times`)
}

async function openImage(response: Response, unavailable: (error: unknown) => ImageUnavailable): Promise<OpenImage> {
  const { status, body, headers } = response
  const close = (): void => void body?.cancel().catch(() => undefined)
  if (status !== 200 || body === null) {
    close()
    throw new ImageUnavailable(`cannot be fetched: its server responds with the status ${status}`)
  }
  const declared = Number(headers.get('content-length') ?? NaN)
  return {
    bytes: Number.isSafeInteger(declared) ? declared : undefined,
    close,
    async read(limit) {
      try {
        return await readBody(body, limit)
      } catch (error) {
        throw unavailable(error)
      }
    },
  }
}

/** Reads a body. Leaving the loop early closes the connection. */
async function readBody(body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) throw new ImageUnavailable(tooLarge(limit))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Returns the reason in our own words, without any text of the foreign server. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return 'cannot be fetched: its server sends no complete response'
  if (/is not allowed/.test(cause.message)) return 'cannot be fetched: its address is not a public one'
  const { code } = cause as NodeJS.ErrnoException
  return `cannot be fetched: its server cannot be reached${code === undefined ? '' : ` (${code})`}`
}
