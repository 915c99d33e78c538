import { cutBefore } from '../../domain/session-title.ts'
import { Webhook } from 'standardwebhooks'
import { definedFields } from '../../domain/defined-fields.ts'
import { guardedFetch } from '../../tools/guarded-fetch.ts'
import type { GuardedRequest } from '../../tools/guarded-fetch.ts'
import type { Attempt } from './state.ts'

/** Timeout for the receiver's response. */
const TIMEOUT_MS = 15_000
/** Limit of a response's bytes; its content is ignored. */
const RESPONSE_BYTES = 64 * 1024
const MAX_ERROR_CHARACTERS = 300

export interface Sending {
  /** The `webhook-id`: the same for all attempts. */
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly body: string
  /** The current time, in milliseconds since 1970. */
  readonly now: number
  readonly signal: AbortSignal
  readonly allowedHosts: readonly string[]
  readonly lookup?: GuardedRequest['lookup']
}

/**
 * Sends one signed request (Standard Webhooks) and returns the result; never rejects. Follows no redirects, and
 * contacts no internal address that is not allowed.
 */
export async function attempt(sending: Sending): Promise<Attempt> {
  const { id, url, secret, body, now, signal, allowedHosts, lookup } = sending
  try {
    const at = new Date(now)
    const headers = new Headers({
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    })
    const target = URL.parse(url)
    if (target === null) throw new TypeError('the address is not a URL')
    const limits = { milliseconds: TIMEOUT_MS, bytes: RESPONSE_BYTES }
    const request = { method: 'POST', headers, body, signal, limits, allowedHosts, isBackground: true }
    const response = await guardedFetch(target, { ...request, ...definedFields({ lookup }) })
    await response.body?.cancel()
    return { at: now, status: response.status }
  } catch (error) {
    signal.throwIfAborted()
    return { at: now, error: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  // An AbortError here means a timeout. Node throws this error for every abort, and our own aborts are rethrown earlier.
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return `no response within ${TIMEOUT_MS / 1_000} s`
  return cutBefore(error.message, MAX_ERROR_CHARACTERS)
}
