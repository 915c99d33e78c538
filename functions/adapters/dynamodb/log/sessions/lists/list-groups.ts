import type { SessionKey } from '../../../../../domain/session.ts'
import { firstByte, GROUP_INDEX, OWNER_INDEX, partitionOf } from '../../../keys.ts'

/** The field whose value is equal for all sessions of a list. `tenant` is the list of all sessions of a tenant. */
export type ListField = 'tenant' | 'owner' | 'agent' | 'runStatus' | 'folder' | 'source'

/**
 * Classes of list entries, by the time that sorts them.
 *
 * - `both`: `updatedAt` and `lastMessageAt` are equal, so one entry serves both orders. This is the case after the
 *   start and the end of a run.
 * - `apart`: by `lastMessageAt`, which differs from `updatedAt`.
 * - `silent`: a session without messages, by `createdAt`, which equals `updatedAt`.
 * - `silent_apart`: a session without messages, by `createdAt`, which differs from `updatedAt`.
 * - `updated`: a session of class `apart` or `silent_apart`, by `updatedAt`.
 * - `created`: every session, by `createdAt`.
 */
export type ListClass = 'both' | 'apart' | 'silent' | 'silent_apart' | 'updated' | 'created'

/**
 * Number of partitions of a list. Each takes about 1,000 writes a second, and a run moves its session twice. So four
 * partitions are enough for about 1,000 runs per second and tenant.
 */
const SHARDS: { readonly [field in ListField]: number } = {
  tenant: 4,
  agent: 4,
  runStatus: 4,
  source: 4,
  owner: 1,
  folder: 1,
}

/** Returns the index with the lists by this field. */
export const indexOfField = (field: ListField): string =>
  field === 'tenant' || field === 'agent' || field === 'folder' ? GROUP_INDEX : OWNER_INDEX

/** Returns the partition of this session in a list. */
export const listGroup = (key: SessionKey, field: ListField, value: string, kind: ListClass): string =>
  nameOf(key.tenant, field, value, kind, firstByte(partitionOf(key)) % SHARDS[field])

/** Returns all partitions of a list. */
export const listGroups = (tenant: string, field: ListField, value: string, kind: ListClass): string[] =>
  Array.from({ length: SHARDS[field] }, (_, shard) => nameOf(tenant, field, value, kind, shard))

/** Returns the name of a partition. Neither tenants nor values (hashes or statuses) contain a `#`. */
const nameOf = (tenant: string, field: ListField, value: string, kind: ListClass, shard: number): string =>
  `list#${tenant}#${field}#${value}#${kind}#${shard}`

/** Whether this is a partition of sessions without messages. */
export const isSilentGroup = (group: string): boolean => group.split('#')[4]?.startsWith('silent') === true
