import { createHmac, timingSafeEqual } from 'node:crypto'

/** Largest difference between a request's timestamp and now, in seconds. An older request may be a replay. */
const MAX_AGE_SECONDS = 300

/**
 * Whether Slack signed these bytes shortly before or after `now` (milliseconds since 1970). The signature is `v0=` and
 * the HMAC-SHA256, in hex, of `v0:<timestamp>:<body>`.
 */
export function isSigned(secret: string, headers: Headers, body: Uint8Array, now: number): boolean {
  const timestamp = headers.get('x-slack-request-timestamp') ?? ''
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1_000 - Number(timestamp)) > MAX_AGE_SECONDS) return false
  const expected = Buffer.from(signatureOf(secret, timestamp, body))
  const given = Buffer.from(headers.get('x-slack-signature') ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The value of the header `x-slack-signature`. */
export const signatureOf = (secret: string, timestamp: string, body: Uint8Array | string): string =>
  `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`
