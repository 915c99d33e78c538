import type { SessionKey } from '../../../domain/session.ts'
import { textAt } from '../attributes.ts'
import { sessionOf } from '../keys.ts'
import { isMessage, type StreamRecord } from './row-records.ts'

/** The fields of a removed message that say which documents it had, without any of its content. */
const OF_REMOVED = ['pk', 'sk', 'rev', 'role', 'documents']

/**
 * Takes the content out of records of deleted sessions. A removed message keeps what is needed to remove its documents; the
 * other records become undefined, because nothing is left to do for them. Checks each session once.
 */
export function stripDeleted(
  isDeleted: (key: SessionKey) => Promise<boolean>,
): (record: StreamRecord) => Promise<StreamRecord | undefined> {
  const known = new Map<string, Promise<boolean>>()
  return async (record) => {
    const keys = record.dynamodb?.Keys ?? {}
    const pk = textAt(keys, 'pk') ?? ''
    if (!pk.startsWith('S#')) return record
    const deleted = known.get(pk) ?? isDeleted(sessionOf(keys))
    known.set(pk, deleted)
    return (await deleted) ? withoutContents(record) : record
  }
}

function withoutContents(record: StreamRecord): StreamRecord | undefined {
  const { NewImage: now, OldImage: before, ...rest } = record.dynamodb ?? {}
  if (now !== undefined || before === undefined || !isMessage(before)) return undefined
  const kept = Object.entries(before).filter(([name]) => OF_REMOVED.includes(name))
  if (kept.length === Object.keys(before).length) return record
  return { ...record, dynamodb: { ...rest, OldImage: Object.fromEntries(kept) } }
}
