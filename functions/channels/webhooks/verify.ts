import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { sha256Bytes } from '../../domain/hash.ts'
import type { WebhookSettings } from './settings.ts'

type Preset = WebhookSettings['verify']['preset']

/**
 * Whether a request was signed with one of the secrets; compared in constant time. `standard` also refuses what was signed more
 * than 5 minutes ago, or ahead.
 */
export function isSigned(preset: Preset, secrets: readonly string[], headers: Headers, body: Buffer): boolean {
  return secrets.some((secret) => CHECKS[preset](secret, headers, body))
}

const CHECKS: { readonly [preset in Preset]: (secret: string, headers: Headers, body: Buffer) => boolean } = {
  standard(secret, headers, body) {
    try {
      new Webhook(secret).verify(body, Object.fromEntries(headers), { jsonParse: false })
      return true
    } catch {
      return false
    }
  },
  github(secret, headers, body) {
    const given = headers.get('x-hub-signature-256') ?? ''
    return isEqual(given, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  },
  bearer(secret, headers) {
    const given = headers.get('authorization') ?? ''
    return /^bearer /iu.test(given) && isEqual(given.slice('Bearer '.length), secret)
  },
}

/** Digests have the same length, whatever was given. */
const isEqual = (left: string, right: string): boolean => timingSafeEqual(digest(left), digest(right))
const digest = (text: string): Buffer => sha256Bytes(text)
