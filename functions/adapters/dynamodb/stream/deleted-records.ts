import type { SessionKey } from '../../../domain/session.ts'
import { textAt } from '../attributes.ts'
import { sessionOf } from '../keys.ts'
import { isMessage, type StreamRecord } from './row-records.ts'

/** Fields of a removed message that identify its documents, without any content. */
const OF_REMOVED = ['pk', 'sk', 'rev', 'role', 'documents']

/** Returns a function that checks whether the session of a partition is deleted. It reads each session only once. */
export function askedOnce(isDeleted: (key: SessionKey) => Promise<boolean>): (partition: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>()
  return (partition) => {
    const deleted = known.get(partition) ?? isDeleted(sessionOf({ pk: { S: partition } }))
    known.set(partition, deleted)
    return deleted
  }
}

/**
 * Removes the content from a record of a deleted session. A record of a removed message keeps the fields that are
 * needed to remove its documents. Returns undefined for any other record of a deleted session, because it needs no
 * further work. Records of sessions that are not deleted are returned unchanged.
 */
export async function stripDeleted(
  record: StreamRecord,
  isDeleted: (partition: string) => Promise<boolean>,
): Promise<StreamRecord | undefined> {
  const partition = partitionOfRecord(record)
  return partition !== undefined && (await isDeleted(partition)) ? withoutContents(record) : record
}

/** Returns the partition of a record's session; undefined for any other record. */
export function partitionOfRecord({ dynamodb: change }: StreamRecord): string | undefined {
  const partition = textAt(change?.Keys ?? {}, 'pk')
  return partition?.startsWith('S#') === true ? partition : undefined
}

function withoutContents(record: StreamRecord): StreamRecord | undefined {
  const { NewImage: now, OldImage: before, ...rest } = record.dynamodb ?? {}
  if (now !== undefined || before === undefined || !isMessage(before)) return undefined
  const kept = Object.entries(before).filter(([name]) => OF_REMOVED.includes(name))
  if (kept.length === Object.keys(before).length) return record
  return { ...record, dynamodb: { ...rest, OldImage: Object.fromEntries(kept) } }
}
