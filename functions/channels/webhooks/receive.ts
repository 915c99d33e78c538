import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Json } from '../../domain/json.ts'
import { readJson } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'
import type { Refusal } from '../../ports/inbound-endpoint.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { channelMayEnter } from '../../access/sessions.ts'
import { sha256, sha256Bytes } from '../../domain/hash.ts'
import type { WebhookSettings } from './settings.ts'

/** Parses the JSON of a body with its numbers as they were sent. Returns a refusal if that fails. */
export function readBody(bytes: Buffer, contentType: string): { readonly body: Json } | Refusal {
  if (/^application\/x-www-form-urlencoded/i.test(contentType)) {
    const detail = 'this webhook takes JSON: choose the content type application/json where you have set it up'
    return { status: 415, code: 'unsupported_media_type', detail }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const fault = jsonFault(text)
    if (fault !== undefined) return malformed(fault)
    return { body: readJson(text) as Json }
  } catch {
    return malformed('is not JSON in UTF-8')
  }
}

const malformed = (what: string): Refusal => ({ status: 400, code: 'malformed_body', detail: `the body ${what}` })

interface Dependencies {
  readonly sessions: Pick<SessionStore, 'read'>
  readonly deletion: Pick<SessionDeletion, 'state'>
}

/**
 * Maximum number of ids that are tried for one name. An id is skipped if its session was deleted in the last 30 days.
 */
const MAX_DELETED_SESSIONS = 20

/** Maximum number of ids that are tried for a delivery. Keys of other owners may have taken some of them. */
const MAX_TAKEN_IDS = 20

interface Delivered {
  readonly tenant: string
  readonly webhook: string
  readonly owner: string
  /** The session id that the webhook's settings name. */
  readonly name: string
}

/**
 * Finds the session of a delivery, or returns an id for a new one. If another owner's key has already taken the id, a
 * replacement id is used. The replacement is used as long as its session exists, even if the taken id becomes free
 * again.
 */
export async function sessionOfDelivery(
  dependencies: Dependencies,
  { tenant, webhook, owner, name }: Delivered,
): Promise<string> {
  const { sessions, deletion } = dependencies
  let free: string | undefined
  let kept: string | undefined
  let id = name
  for (let taken = 0; taken < MAX_TAKEN_IDS; taken++) {
    if (free === undefined) {
      const session = await liveSessionOf(dependencies, tenant, id)
      const found = await sessions.read({ tenant, session })
      if (found === undefined || channelMayEnter(found, owner)) free = session
    }
    id = replacementIdOf(webhook, id)
    const key = { tenant, session: id }
    const replacement = await sessions.read(key)
    if (replacement?.byChannel === true) kept = id
    const isUnused = replacement === undefined && (await deletion.state(key)) === undefined
    if (isUnused && free !== undefined) break
  }
  return kept ?? free ?? id
}

/**
 * Finds the session of a conversation with this name, or returns the id for a new one. The id of a deleted or expired
 * session cannot be used for 30 days. A replacement id is used instead, as long as the session with the replacement id
 * exists.
 */
export async function liveSessionOf(
  { sessions, deletion }: Dependencies,
  tenant: string,
  name: string,
): Promise<string> {
  let free: string | undefined
  for (let number = 1; number <= MAX_DELETED_SESSIONS; number++) {
    const session = number === 1 ? name : sessionIdOf(`${name} ${number}`)
    const key = { tenant, session }
    if ((await sessions.read(key)) !== undefined) return session
    if ((await deletion.state(key)) !== undefined) continue
    free ??= session
    // If the first id is free, its replacement is looked up too: a replacement session stays in use after the 30 days.
    if (number > 1) break
  }
  return free ?? name
}

/** Limit of the rendered text in a session id, in characters. With the hash after the text, the id has 128. */
const MAX_TEXT_CHARACTERS = 119
const HASH_DIGITS = 8

/** Returns the session id for a rendered text. It is the text itself, if that is a valid id and short enough. */
export function sessionIdOf(rendered: string): string {
  const allowed = rendered.replaceAll(/[^A-Za-z0-9._:-]/gu, '-')
  const begun = /^[A-Za-z0-9]/.test(allowed) ? allowed : `x${allowed}`
  const cut = begun.slice(0, MAX_TEXT_CHARACTERS)
  if (cut === rendered) return cut
  return `${cut}-${hashOf(rendered)}`
}

/**
 * Returns the replacement for an id that a key of another owner has taken. It ends with a hash of the webhook's name, a
 * space and the id.
 */
const replacementIdOf = (webhook: string, id: string): string =>
  `${id.slice(0, MAX_TEXT_CHARACTERS)}-${hashOf(`${webhook} ${id}`)}`

const hashOf = (text: string): string => sha256(text).slice(0, HASH_DIGITS)

type Preset = WebhookSettings['verify']['preset']

/**
 * Whether a request was signed with one of the secrets. Signatures are compared in constant time. `standard` also
 * rejects a timestamp more than 5 minutes in the past or future.
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

/** The comparison needs inputs of equal length, and all digests have the same length. */
const isEqual = (left: string, right: string): boolean => timingSafeEqual(digest(left), digest(right))
const digest = (text: string): Buffer => sha256Bytes(text)
