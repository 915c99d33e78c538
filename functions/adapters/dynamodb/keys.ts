import { createHash } from 'node:crypto'
import type { SessionKey } from '../../domain/session.ts'
import { requiredText, type Item } from './attributes.ts'

export interface ItemKey {
  readonly pk: string
  readonly sk: string
}

/** Sparse: sessions of a tenant by last activity. */
export const GROUP_INDEX = 'by_group'
/** Sparse: sessions of an owner by last activity. */
export const OWNER_INDEX = 'by_owner'
/** Sparse: sessions that the sweeper should look at, and those that expire. */
export const DUE_INDEX = 'by_due'
/** Due sessions are spread over this many index partitions, those of one tenant over some of them. */
const DUE_SHARDS = 16
/** A tenant's backlog fills no more, so that others' sessions are found beside it; each takes some 1,000 changes a second. */
const SHARDS_OF_A_TENANT = 4

export const HEADER = '#SESSION'
const DETAILS = '#DETAILS'
export const EXPIRY = '#EXPIRY'
export const RUN_PREFIX = '#RUN#'
const CLAIM_PREFIX = '#KEY#'

/** Neither tenants nor session ids hold a `#`. */
export const partitionOf = ({ tenant, session }: SessionKey): string => `S#${tenant}#${session}`

/** The session whose item this is. */
export function sessionOf(item: Item): SessionKey {
  const [, tenant = '', session = ''] = requiredText(item, 'pk').split('#')
  return { tenant, session }
}

export const headerKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: HEADER })
export const detailsKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: DETAILS })
export const expiryKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: EXPIRY })
export const runKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: RUN_PREFIX + id })
export const claimKey = (key: SessionKey, hash: string): ItemKey => ({ pk: partitionOf(key), sk: CLAIM_PREFIX + hash })
/** `#` sorts before the digits that ids begin with, so messages stand after everything else. */
export const messageKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: id })

/** The index partitions of what the sweeper looks for. */
export const shardsOf = (kind: 'due' | 'expiry'): string[] =>
  Array.from({ length: DUE_SHARDS }, (_, shard) => `${kind}#${shard}`)

/** The index partition of this session. */
export function shardOf(kind: 'due' | 'expiry', key: SessionKey): string {
  const tenant = firstByte(key.tenant)
  const session = firstByte(partitionOf(key)) % SHARDS_OF_A_TENANT
  return `${kind}#${(tenant + session) % DUE_SHARDS}`
}

const firstByte = (text: string): number => createHash('sha256').update(text).digest()[0] ?? 0

/** Each run moves its session in the list twice: a tenant may start some 1,000 runs a second before this is too few. */
const LIST_SHARDS = 4

/** Where a session stands in its tenant's list. */
export const sessionsGroup = (key: SessionKey): string =>
  `sessions#${key.tenant}#${firstByte(partitionOf(key)) % LIST_SHARDS}`
/** All parts of a tenant's list. */
export const sessionsGroups = (tenant: string): string[] =>
  Array.from({ length: LIST_SHARDS }, (_, shard) => `sessions#${tenant}#${shard}`)
export const ownerGroup = (tenant: string, owner: string): string => `owner#${tenant}#${printOf(owner)}`

/** Digits of a time in milliseconds, so that texts sort as times do. */
const TIME_DIGITS = 15

/** A place in a group: by time, then by id. */
export const placeAt = (time: number, id: string): string => `${String(time).padStart(TIME_DIGITS, '0')}#${id}`

/** The time of a place in a group. */
export const timeOfPlace = (place: string): number => Number(place.slice(0, TIME_DIGITS))

/** A short stand-in for a text that may be long, to compare by. */
export const printOf = (text: string): string =>
  createHash('sha256').update(JSON.stringify(text)).digest('base64url').slice(0, 22)
