import { createHmac } from 'node:crypto'
import { sha256 } from '../domain/hash.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { HistoryQuery } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

/**
 * Bytes of the tag that binds a cursor to its query. With this tag and a position of at most 26 bytes, a cursor has at
 * most 40 characters.
 */
const TAG_BYTES = 4
const MAX_PLACE_BYTES = 26

/** A non-negative integer, and the number of bits in which it is stored. */
export type PlaceField = readonly [value: number | bigint, bits: number]

/**
 * Returns a cursor for a position in the pages of this query. It is valid only for this query. With a `secret`, the
 * position is readable only with that secret.
 */
export function writeCursor(query: HistoryQuery, fields: readonly PlaceField[], secret = ''): string {
  const place = pack(fields)
  if (place.length > MAX_PLACE_BYTES)
    throw new RangeError(`a place of ${place.length} bytes does not fit into a cursor`)
  const tag = tagOf(query, place, secret)
  return Buffer.concat([tag, masked(place, tag, secret)]).toString('base64url')
}

/**
 * Reads the fields of a cursor's position; `bits` are their sizes. Throws `cursor_not_found` for a text that no page of
 * this query returned.
 */
export function readCursor(query: HistoryQuery, text: string, bits: readonly number[], secret = ''): bigint[] {
  const bytes = Buffer.from(text, 'base64url')
  const tag = bytes.subarray(0, TAG_BYTES)
  const place = masked(bytes.subarray(TAG_BYTES), tag, secret)
  const isOurs = place.length === sizeOf(bits) && bytes.toString('base64url') === text
  if (!isOurs || !tagOf(query, place, secret).equals(tag)) throw cursorNotFound()
  return splitFields(BigInt(`0x${place.toString('hex')}`), bits)
}

const cursorNotFound = (): TooltrailError =>
  new TooltrailError('cursor_not_found', 'after is not a cursor of this search: ask for the first page again')

/**
 * Returns a short, globally unique name of a message, for cursors and ids. Messages of different sessions may have
 * equal ids. The 48 bits of the hash distinguish them.
 */
export const messageFingerprint = ({ tenant, session }: SessionKey, messageId: string): string =>
  sha256(JSON.stringify([tenant, session, messageId]), 'base64url').slice(0, FINGERPRINT_CHARACTERS)

/** Characters of a fingerprint. */
export const FINGERPRINT_CHARACTERS = 8

const sizeOf = (bits: readonly number[]): number => Math.ceil(bits.reduce((sum, one) => sum + one, 0) / 8)

function pack(fields: readonly PlaceField[]): Buffer {
  const size = sizeOf(fields.map(([, bits]) => bits))
  return Buffer.from(
    joinFields(fields)
      .toString(16)
      .padStart(size * 2, '0'),
    'hex',
  )
}

/** Joins several fields into one number. The first field has the highest bits. */
export function joinFields(fields: readonly PlaceField[]): bigint {
  let all = 0n
  for (const [value, bits] of fields) {
    const whole = BigInt(value)
    if (whole < 0n || whole >> BigInt(bits) !== 0n) throw new RangeError(`${value} does not fit into ${bits} bits`)
    all = (all << BigInt(bits)) | whole
  }
  return all
}

/** Splits a number that `joinFields` returned into its fields. `bits`: the sizes of the fields. */
export function splitFields(joined: bigint, bits: readonly number[]): bigint[] {
  const fields: bigint[] = []
  let rest = joined
  for (const size of bits.toReversed()) {
    fields.unshift(BigInt.asUintN(size, rest))
    rest >>= BigInt(size)
  }
  return fields
}

/** Masks a position. A second call with the masked position restores the original position. */
function masked(place: Uint8Array, tag: Uint8Array, secret: string): Buffer {
  const mask = createHmac('sha256', secret).update('mask').update(tag).digest()
  return Buffer.from(place.map((byte, at) => byte ^ (mask[at] ?? 0)))
}

const tagOf = (query: HistoryQuery, place: Uint8Array, secret: string): Buffer =>
  createHmac('sha256', secret)
    .update(`tag ${identityOf(query)} `)
    .update(place)
    .digest()
    .subarray(0, TAG_BYTES)

/**
 * Serializes those fields of a query that decide its hits and their order. A cursor is valid only for queries
 * that have equal values in these fields.
 */
function identityOf({ scope, text, filters, sort = 'relevance', group }: HistoryQuery): string {
  const { role, tool, status, session, owner, agent, since, until, notRun, feedback, metadata, sessions } = filters
  const { superseded } = filters
  const all = [scope.tenant, scope.owner, scope.session, text, sort, group]
  all.push(role, tool, status, session, owner, agent, notRun, feedback)
  // `metadata` conditions are applied in one of two ways: the index searches `sessions`, or each hit is compared with
  // its session. A cursor's position has a different meaning in each way.
  const conditions = metadata?.map(({ key, value, isPrefix }) => [key, value, isPrefix, sessions === undefined])
  const last = [...(conditions === undefined ? [] : [conditions]), ...(superseded === undefined ? [] : [superseded])]
  return JSON.stringify([...all, since, until, ...last].map((one) => one ?? null))
}
