import { sha256, sha256Bytes } from '../../domain/hash.ts'
import type { DeliveryKey } from '../../domain/delivery.ts'
import type { SessionKey } from '../../domain/session.ts'
import { requiredText, type Item } from './attributes.ts'

export interface ItemKey {
  readonly pk: string
  readonly sk: string
}

/** Sparse index: lists of sessions by tenant, agent and folder, and a tenant's deliveries by id. */
export const GROUP_INDEX = 'by_group'
/** Sparse index: lists of sessions by owner, run status and source, and an owner's deliveries by id. */
export const OWNER_INDEX = 'by_owner'
/** Sparse index: sessions with work for the sweeper, sessions that expire, and pending deliveries. */
export const DUE_INDEX = 'by_due'
/** Number of index partitions for each kind of due items. Each tenant's items use only some of these partitions. */
const DUE_SHARDS = 16
/**
 * Number of index partitions that one tenant's sessions use. A tenant with a backlog cannot fill the other partitions,
 * so other tenants' sessions are still found. Each partition takes about 1,000 changes a second.
 */
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
/** Replacements are sorted by the runs that made them. */
export const REPLACEMENT_PREFIX = '#REPLACED#'
export const PENDING_PREFIX = '#PENDING#'
export const NAME_PREFIX = '#NAME#'
const LIST_PREFIX = '#LIST#'
const OPENING = '#OPENING'
/** Number of digits of a number in a key, so that the keys sort like the numbers. */
const NUMBER_DIGITS = 12

/** Returns a session's partition key. Neither tenants nor session ids contain a `#`. */
export const partitionOf = ({ tenant, session }: SessionKey): string => `S#${tenant}#${session}`

/** Returns the session of an item. */
export function sessionOf(item: Item): SessionKey {
  const [, tenant = '', session = ''] = requiredText(item, 'pk').split('#')
  return { tenant, session }
}

export const headerKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: HEADER })
export const detailsKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: DETAILS })
/** Returns the key of the policies' decisions about the session's requests. */
export const contextKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: CONTEXT })
export const expiryKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: EXPIRY })
export const runKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: RUN_PREFIX + id })
/**
 * Returns the key of the mark of a queued run that steers: the queued run's input will become a message of the active
 * run. With these marks, such runs are found without reading the queue.
 */
export const steeringKey = (key: SessionKey, id: string): ItemKey => ({
  pk: partitionOf(key),
  sk: STEERING_PREFIX + id,
})
export const claimKey = (key: SessionKey, hash: string): ItemKey => ({ pk: partitionOf(key), sk: CLAIM_PREFIX + hash })
/** Returns the key of the replacement that this run has made. */
export const replacementKey = (key: SessionKey, run: string): ItemKey => ({
  pk: partitionOf(key),
  sk: REPLACEMENT_PREFIX + run,
})
/** Returns the key of a delivery to a channel. */
export const deliveryKey = (key: DeliveryKey): ItemKey => ({ pk: partitionOf(key), sk: DELIVERY_PREFIX + key.id })
/**
 * Returns the key of the mark of a pending delivery. With these marks, pending deliveries are found without reading
 * ended ones.
 */
export const pendingKey = (key: DeliveryKey): ItemKey => ({ pk: partitionOf(key), sk: PENDING_PREFIX + key.id })
/** Returns the hash of a name. The name itself may contain any character. */
export const hashName = (name: string): string => sha256(JSON.stringify(name))
/** Returns the key of the item that maps a name to its session. */
export const nameKey = (tenant: string, nameHash: string): ItemKey => ({ pk: `N#${tenant}#${nameHash}`, sk: '#NAME' })
/** Returns the key of the row that lists a name among its session's rows. */
export const nameRowKey = (key: SessionKey, nameHash: string): ItemKey => ({
  pk: partitionOf(key),
  sk: NAME_PREFIX + nameHash,
})
/** Returns the key of the item with a completion's source numbers, by the last of these numbers. */
export const sourcesKey = (key: SessionKey, last: number): ItemKey => ({
  pk: partitionOf(key),
  sk: SOURCES_PREFIX + String(last).padStart(NUMBER_DIGITS, '0'),
})
/** Returns the key of a message. `#` sorts before the digits that ids begin with, so messages follow all other rows. */
export const messageKey = (key: SessionKey, id: string): ItemKey => ({ pk: partitionOf(key), sk: id })

/** Kinds of due items: sessions with work, sessions that expire, deliveries. */
export type DueKind = 'due' | 'expiry' | 'delivery'

/** Returns the index partitions of one kind. */
export const shardsOf = (kind: DueKind): string[] =>
  Array.from({ length: DUE_SHARDS }, (_, shard) => `${kind}#${shard}`)

/** Returns the index partition of this session. */
export function shardOf(kind: DueKind, key: SessionKey): string {
  const tenant = firstByte(key.tenant)
  const session = firstByte(partitionOf(key)) % SHARDS_OF_A_TENANT
  return `${kind}#${(tenant + session) % DUE_SHARDS}`
}

/** Returns a number from 0 to 255 that distributes texts evenly. */
export const firstByte = (text: string): number => sha256Bytes(text)[0] ?? 0

const LIST_SHARDS = 4
/** Prefix of the partitions that earlier versions used for a tenant's list. */
export const OLD_GROUP_PREFIX = 'sessions#'

/**
 * Returns all partitions that earlier versions used for the list of a tenant's sessions.
 * `log/sessions/lists/list-groups.ts` has the partitions of this version.
 */
export const sessionsGroups = (tenant: string): string[] =>
  Array.from({ length: LIST_SHARDS }, (_, shard) => `${OLD_GROUP_PREFIX}${tenant}#${shard}`)
/** Returns the partitions that list a tenant's deliveries of one kind. */
export const deliveryGroups = (tenant: string, kind: string): string[] =>
  Array.from({ length: LIST_SHARDS }, (_, shard) => `deliveries#${tenant}#${kind}#${shard}`)
/** Returns the partition that lists this session's deliveries of one kind. */
export const deliveryGroup = (key: SessionKey, kind: string): string =>
  `deliveries#${key.tenant}#${kind}#${firstByte(partitionOf(key)) % LIST_SHARDS}`
/** Returns the partition that earlier versions used for an owner's list. */
export const ownerGroup = (tenant: string, owner: string): string => `owner#${tenant}#${hashOf(owner)}`
/** Returns the partition that lists an owner's deliveries of one kind. */
export const ownersDeliveries = (tenant: string, kind: string, ownerHash: string): string =>
  `owner_deliveries#${tenant}#${kind}#${ownerHash}`

/** Returns the key of a session's list entry that is stored apart from the session's header. */
export const listKey = (key: SessionKey, name: string): ItemKey => ({ pk: partitionOf(key), sk: LIST_PREFIX + name })
/** Returns the key of the item with the beginning of the session's first input. */
export const openingKey = (key: SessionKey): ItemKey => ({ pk: partitionOf(key), sk: OPENING })

/** Key of the item with the progress of adoption, which converts sessions of earlier versions. */
export const adoptionKey: ItemKey = { pk: 'LISTS', sk: '#ADOPTION' }

/** Number of digits of a time in milliseconds, so that texts sort like times. */
const TIME_DIGITS = 15
const LATEST_MS = 10 ** TIME_DIGITS - 1

/** Returns a position in a group: by time, then by id. */
export const placeAt = (time: number, id: string): string =>
  `${String(Math.min(Math.max(Math.trunc(time), 0), LATEST_MS)).padStart(TIME_DIGITS, '0')}#${id}`

/** Returns the time of a position in a group. */
export const timeOfPlace = (place: string): number => Number(place.slice(0, TIME_DIGITS))

/** Returns a short hash of a possibly long text, for comparison. */
export const hashOf = (text: string): string => sha256(JSON.stringify(text), 'base64url').slice(0, 22)
