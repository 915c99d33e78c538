import { sha256, sha256Bytes } from '../../domain/hash.ts'
import type { DeliveryKey } from '../../domain/delivery.ts'
import type { SessionKey } from '../../domain/session.ts'
import { requiredText, type Item } from './attributes.ts'

export interface ItemKey {
  readonly pk: string
  readonly sk: string
}

/** Sparse: sessions of a tenant by last activity. */
export const GROUP_INDEX = 'by_group'
/** Sparse: sessions of an owner by last activity, and what their runs owe to channels by id. */
export const OWNER_INDEX = 'by_owner'
/** Sparse: sessions that the sweeper should look at, and those that expire. */
export const DUE_INDEX = 'by_due'
/** Due sessions are spread over this many index partitions, those of one tenant over some of them. */
const DUE_SHARDS = 16
/** A tenant's backlog fills at most this many, so that others' sessions are found; each takes some 1,000 changes a second. */
const SHARDS_OF_A_TENANT = 4

export const HEADER = '#SESSION'
const DETAILS = '#DETAILS'
const CONTEXT = '#SUMMARY'
export const EXPIRY = '#EXPIRY'
export const RUN_PREFIX = '#RUN#'
const CLAIM_PREFIX = '#KEY#'
export const STEERING_PREFIX = '#STEER#'
export const SOURCES_PREFIX = '#SOURCES#'
export const DELIVERY_PREFIX = '#DELIVERY#'
export const PENDING_PREFIX = '#PENDING#'
export const NAME_PREFIX = '#NAME#'
const LIST_PREFIX = '#LIST#'
const OPENING = '#OPENING'
/** Digits of a number, so that texts sort as numbers do. */
const NUMBER_DIGITS = 12

/** Neither tenants nor session ids hold a `#`. */
export const partitionOf = ({ tenant, session }: SessionKey): string => `S#${tenant}#${session}`

/** The session whose item this is. */
export function sessionOf(item: Item): SessionKey {
  const [, tenant = '', session = ''] = requiredText(item, 'pk').split('#')
  return { tenant, session }
}

export const headerKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: HEADER })
export const detailsKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: DETAILS })
/** What policies decided for the session's requests. */
export const contextKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: CONTEXT })
export const expiryKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: EXPIRY })
export const runKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: RUN_PREFIX + id })
/** Marks a queued run that is to become a message of the running one: such runs are found without reading the queue. */
export const steeringKey = (key: SessionKey, id: string): ItemKey => ({
  pk: partitionOf(key),
  sk: STEERING_PREFIX + id,
})
export const claimKey = (key: SessionKey, hash: string): ItemKey => ({ pk: partitionOf(key), sk: CLAIM_PREFIX + hash })
/** What a run owes to a channel. */
export const deliveryKey = (key: DeliveryKey): ItemKey => ({ pk: partitionOf(key), sk: DELIVERY_PREFIX + key.id })
/** Says that a delivery is pending: such deliveries are found without reading those that are over. */
export const pendingKey = (key: DeliveryKey): ItemKey => ({ pk: partitionOf(key), sk: PENDING_PREFIX + key.id })
/** A name may hold any character. */
export const hashName = (name: string): string => sha256(JSON.stringify(name))
/** What a name stands for. */
export const nameKey = (tenant: string, nameHash: string): ItemKey => ({ pk: `N#${tenant}#${nameHash}`, sk: '#NAME' })
/** Says among a session's rows that it has a name. */
export const nameRowKey = (key: SessionKey, nameHash: string): ItemKey => ({
  pk: partitionOf(key),
  sk: NAME_PREFIX + nameHash,
})
/** Numbers of sources, by the last of those that one completion records. */
export const sourcesKey = (key: SessionKey, last: number): ItemKey => ({
  pk: partitionOf(key),
  sk: SOURCES_PREFIX + String(last).padStart(NUMBER_DIGITS, '0'),
})
/** `#` sorts before the digits that ids begin with, so messages come after everything else. */
export const messageKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: id })

/** What the sweeper looks for: sessions with work, sessions that expire, deliveries. */
export type DueKind = 'due' | 'expiry' | 'delivery'

/** The index partitions of one kind. */
export const shardsOf = (kind: DueKind): string[] =>
  Array.from({ length: DUE_SHARDS }, (_, shard) => `${kind}#${shard}`)

/** The index partition of this session. */
export function shardOf(kind: DueKind, key: SessionKey): string {
  const tenant = firstByte(key.tenant)
  const session = firstByte(partitionOf(key)) % SHARDS_OF_A_TENANT
  return `${kind}#${(tenant + session) % DUE_SHARDS}`
}

/** A number from 0 to 255 that spreads texts evenly. */
export const firstByte = (text: string): number => sha256Bytes(text)[0] ?? 0

const LIST_SHARDS = 4
/** Begins the name of each part of a tenant's list that earlier versions wrote. */
export const OLD_GROUP_PREFIX = 'sessions#'

/** All parts of a tenant's list as earlier versions wrote it (`log/sessions/list-groups.ts` has those of today). */
export const sessionsGroups = (tenant: string): string[] =>
  Array.from({ length: LIST_SHARDS }, (_, shard) => `${OLD_GROUP_PREFIX}${tenant}#${shard}`)
/** All parts of a tenant's list of deliveries of one kind. */
export const deliveryGroups = (tenant: string, kind: string): string[] =>
  Array.from({ length: LIST_SHARDS }, (_, shard) => `deliveries#${tenant}#${kind}#${shard}`)
/** The place of a delivery among those of its kind. */
export const deliveryGroup = (key: SessionKey, kind: string): string =>
  `deliveries#${key.tenant}#${kind}#${firstByte(partitionOf(key)) % LIST_SHARDS}`
/** An owner's list as earlier versions wrote it. */
export const ownerGroup = (tenant: string, owner: string): string => `owner#${tenant}#${hashOf(owner)}`
/** The place of a delivery among those of its kind that sessions of one owner have, by the owner's print. */
export const ownersDeliveries = (tenant: string, kind: string, ownerHash: string): string =>
  `owner_deliveries#${tenant}#${kind}#${ownerHash}`

/** A place of the session in lists, in addition to its header. */
export const listKey = (key: SessionKey, name: string): ItemKey => ({ pk: partitionOf(key), sk: LIST_PREFIX + name })
/** The beginning of the session's first input. */
export const openingKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: OPENING })

/** How far the adoption of sessions of earlier versions has come. */
export const adoptionKey: ItemKey = { pk: 'LISTS', sk: '#ADOPTION' }

/** Digits of a time in milliseconds, so that texts sort as times do. */
const TIME_DIGITS = 15
const LATEST_MS = 10 ** TIME_DIGITS - 1

/** A place in a group: by time, then by id. */
export const placeAt = (time: number, id: string): string =>
  `${String(Math.min(Math.max(Math.trunc(time), 0), LATEST_MS)).padStart(TIME_DIGITS, '0')}#${id}`

/** The time of a place in a group. */
export const timeOfPlace = (place: string): number => Number(place.slice(0, TIME_DIGITS))

/** A short hash of a text that may be long, for comparison. */
export const hashOf = (text: string): string => sha256(JSON.stringify(text), 'base64url').slice(0, 22)
