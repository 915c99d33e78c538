import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { WebhookSettings } from './settings.ts'
import { pointersOf } from './template.ts'

/** A delivery as its sender would make it. */
export interface SampleDelivery {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** The value at each place that the settings refer to, unless `when` requires another value. */
const SAMPLE = 'sample'

/**
 * Builds a delivery that the webhook accepts. `id`: the delivery's id. `body`: by default, a body with a value at each
 * place that the settings refer to. The delivery is signed with `secret` at the time `at`.
 */
export function sampleDelivery(
  webhook: WebhookSettings,
  { secret, id, at, body = sampleBody(webhook) }: { secret: string; id: string; at: Date; body?: string },
): SampleDelivery {
  const type = { 'content-type': 'application/json' }
  switch (webhook.verify.preset) {
    case 'standard': {
      const seconds = String(Math.floor(at.getTime() / 1_000))
      const signed = { 'webhook-id': id, 'webhook-timestamp': seconds }
      return { body, headers: { ...type, ...signed, 'webhook-signature': new Webhook(secret).sign(id, at, body) } }
    }
    case 'github': {
      const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
      return { body, headers: { ...type, 'x-github-delivery': id, 'x-hub-signature-256': signature } }
    }
    case 'bearer':
      return { body, headers: { ...type, authorization: `Bearer ${secret}` } }
  }
}

/** The place for `callback` gets no value, so that a sample causes no callback. */
function sampleBody({ text, session, owner = '', delivery = '', when }: WebhookSettings): string {
  let body: Json = {}
  const pointers = [text, session, owner, delivery].flatMap(pointersOf)
  // Sorted, so that containers come before their contents.
  for (const pointer of pointers.toSorted()) body = withValue(body, pointer, SAMPLE)
  for (const [pointer, [value]] of Object.entries(when)) if (value !== undefined) body = withValue(body, pointer, value)
  return JSON.stringify(body)
}

/** Sets a value at a JSON Pointer. Values on the path that are not objects are replaced. */
function withValue(body: Json, pointer: string, value: Json): Json {
  const [, token, ...rest] = pointer.split('/')
  if (token === undefined) return value
  const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
  const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {}
  const below = rest.length === 0 ? '' : `/${rest.join('/')}`
  return { ...fields, [name]: withValue(fields[name] ?? {}, below, value) }
}
