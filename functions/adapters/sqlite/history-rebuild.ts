import type { SessionKey } from '../../domain/session.ts'
import { readAll, transaction, type Database } from './database.ts'
import { mergeAll } from './history-pending.ts'
import { findMessage, messageOf, SELECT_MESSAGES, type MessageRow } from './message-rows.ts'
import { writeProjected, type LogDependencies } from './projected-write.ts'
import { findLiveSession } from './session-rows.ts'

/** Messages read at a time. */
const PAGE = 100

interface Rebuilt {
  readonly messages: number
  /** Messages whose documents were removed, for the log has them no longer. */
  readonly removed: number
}

type Row = MessageRow & SessionKey & { readonly number: number }

/**
 * Makes the history index again from the log, message by message, each in one transaction that reads the message once more:
 * safe while the program writes, and every search meanwhile is answered. Documents without a message are removed.
 */
export async function rebuildSqliteHistory(dependencies: LogDependencies): Promise<Rebuilt> {
  const { database } = dependencies
  let messages = 0
  for (let after = 0; ;) {
    const rows = readAll<Row>(
      database,
      `${SELECT_MESSAGES.replace('SELECT', 'SELECT m.number, s.tenant, s.session,')}
       JOIN sessions s ON s.number = m.session WHERE m.number > ? AND s.live = 1 ORDER BY m.number LIMIT ?`,
      after,
      PAGE,
    )
    for (const row of rows) await reindex(dependencies, row)
    mergeAll(database)
    messages += rows.length
    const last = rows.at(-1)
    if (last === undefined) return { messages, removed: removeOrphans(dependencies) }
    after = last.number
  }
}

async function reindex(dependencies: LogDependencies, row: Row): Promise<void> {
  const { database } = dependencies
  const key = { tenant: row.tenant, session: row.session }
  await writeProjected(dependencies, key, [messageOf(row)], () => {
    const session = findLiveSession(database, key)
    const message = session && findMessage(database, session.number, row.id)
    return { answer: undefined, written: message === undefined ? [] : [message] }
  })
}

function removeOrphans({ database, history }: LogDependencies): number {
  let removed = 0
  for (let orphans = findOrphans(database); orphans.length > 0; orphans = findOrphans(database)) {
    transaction(database, () => {
      for (const { tenant, session, message } of orphans) history.remove({ tenant, session }, [message])
    })
    removed += orphans.length
  }
  return removed
}

function findOrphans(database: Database): (SessionKey & { readonly message: string })[] {
  return readAll(
    database,
    `SELECT h.tenant, h.session, h.message FROM historyMessages h WHERE NOT EXISTS (
       SELECT 1 FROM messages m JOIN sessions s ON s.number = m.session
       WHERE s.tenant = h.tenant AND s.session = h.session AND m.id = h.message) LIMIT ?`,
    PAGE,
  )
}
