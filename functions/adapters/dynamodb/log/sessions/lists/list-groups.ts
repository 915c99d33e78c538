import type { SessionKey } from '../../../../../domain/session.ts'
import { firstByte, GROUP_INDEX, OWNER_INDEX, partitionOf } from '../../../keys.ts'

/** The field whose value is shared by the sessions of one list; `tenant`: the list of all sessions. */
export type ListField = 'tenant' | 'owner' | 'agent' | 'runStatus' | 'folder' | 'source'

/**
 * The entries of a list by the time that sorts them, as the session's other time shows it.
 *
 * - `both`: `updatedAt` and `lastMessageAt` are equal, so that one entry serves both orders. Start and end of a run leave it so.
 * - `apart`: by `lastMessageAt`, which differs from `updatedAt`.
 * - `silent`: a session without messages, by `createdAt`, which is equal to `updatedAt`.
 * - `silent_apart`: a session without messages, by `createdAt`, which differs from `updatedAt`.
 * - `updated`: a session that is `apart` or `silent_apart`, by `updatedAt`.
 * - `created`: every session, by `createdAt`.
 */
export type ListClass = 'both' | 'apart' | 'silent' | 'silent_apart' | 'updated' | 'created'

/**
 * Partitions of a list, of which each takes some 1,000 writes a second. A run moves its session twice: a tenant may start some
 * 1,000 runs a second before four are too few.
 */
const SHARDS: { readonly [field in ListField]: number } = {
  tenant: 4,
  agent: 4,
  runStatus: 4,
  source: 4,
  owner: 1,
  folder: 1,
}

/** The index that has the lists by this field. */
export const indexOfField = (field: ListField): string =>
  field === 'tenant' || field === 'agent' || field === 'folder' ? GROUP_INDEX : OWNER_INDEX

/** The partition of this session in a list. */
export const listGroup = (key: SessionKey, field: ListField, value: string, kind: ListClass): string =>
  nameOf(key.tenant, field, value, kind, firstByte(partitionOf(key)) % SHARDS[field])

/** All partitions of a list. */
export const listGroups = (tenant: string, field: ListField, value: string, kind: ListClass): string[] =>
  Array.from({ length: SHARDS[field] }, (_, shard) => nameOf(tenant, field, value, kind, shard))

/** Neither tenants nor values, which are prints or statuses, hold a `#`. */
const nameOf = (tenant: string, field: ListField, value: string, kind: ListClass, shard: number): string =>
  `list#${tenant}#${field}#${value}#${kind}#${shard}`

/** Whether this is a partition of sessions without messages. */
export const isSilentGroup = (group: string): boolean => group.split('#')[4]?.startsWith('silent') === true
