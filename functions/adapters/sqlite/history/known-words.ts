import type { Database } from '../database.ts'
import { lastWord, type SessionRows } from './audiences.ts'
import { sessionWords } from './session-words.ts'

/** Words that are remembered of sessions, and as many of owners and tenants. */
const REMEMBERED = 200_000

/** Words that the tables have: all of a session, and of its owner and its tenant those that came up. */
export interface KnownWords {
  readonly session: Set<string>
  readonly owner: Set<string> | undefined
  readonly tenant: Set<string>
}

/**
 * Remembers words that the tables have: most come again. All of them are given up when the tenant's are not as they were left:
 * another process has changed them, some were forgotten, or a transaction was undone.
 */
export function createKnownWords(database: Database) {
  const left = new Map<number, number>()
  const sessions = new Map<number, Set<string>>()
  const owners = new Map<number, Set<string>>()
  const tenants = new Map<number, Set<string>>()
  return {
    /** Runs `work`, which adds words of the tenant to its tables and to the sets of its sessions. */
    adding(tenant: number, work: (of: (rows: SessionRows) => KnownWords) => void): void {
      if (left.get(tenant) !== lastWord(database, tenant))
        for (const sets of [left, sessions, owners, tenants]) sets.clear()
      if (sizeOf(sessions) > REMEMBERED) sessions.clear()
      if (sizeOf(owners) + sizeOf(tenants) > REMEMBERED) for (const sets of [owners, tenants]) sets.clear()
      left.delete(tenant)
      work((rows) => ({
        session: setOf(sessions, rows.session, () => sessionWords(database, rows.session)),
        owner: rows.owner === undefined ? undefined : setOf(owners, rows.owner),
        tenant: setOf(tenants, tenant),
      }))
      left.set(tenant, lastWord(database, tenant))
    },
  }
}

type WordSets = Map<number, Set<string>>

const sizeOf = (sets: WordSets): number => [...sets.values()].reduce((sum, { size }) => sum + size, 0)

function setOf(sets: WordSets, id: number, first: () => readonly string[] = () => []): Set<string> {
  const found = sets.get(id) ?? new Set(first())
  sets.set(id, found)
  return found
}
