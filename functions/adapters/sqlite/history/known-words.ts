import type { Database } from '../database.ts'
import { lastWord, type SessionRows } from './audiences.ts'
import { sessionWords } from './session-words.ts'

/** Words that are remembered of sessions, and about as many of owners and tenants. */
const REMEMBERED = 200_000

/** Words of which some are remembered. */
export interface SomeWords {
  has(word: string): boolean
  add(word: string): void
}

/** Words that the tables have: all of a session, and of its owner and its tenant those that came up lately. */
export interface KnownWords {
  /** What was added under these numbers, to the session or to its owner and tenant, is there as long as the numbers are the same. */
  readonly numbers: { readonly session: number; readonly owner: number }
  readonly session: Set<string>
  readonly owner: SomeWords | undefined
  readonly tenant: SomeWords
}

/**
 * Remembers words that the tables have: most come again. All of them are given up when the tenant's are not as they were left:
 * another process has changed them, some were forgotten, or a transaction was undone.
 */
export function createKnownWords(database: Database) {
  const left = new Map<number, number>()
  const sessions: WordSets = new Map()
  const owners = createLatest()
  const tenants = createLatest()
  const numbers = new Map<string, number>()
  let last = 0
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? ++last
    numbers.set(name, number)
    return number
  }
  return {
    /** Runs `work`, which adds words of the tenant to its tables and to the sets of its sessions. */
    adding(tenant: number, work: (of: (rows: SessionRows) => KnownWords) => void): void {
      if (left.get(tenant) !== lastWord(database, tenant))
        for (const one of [left, sessions, owners, tenants, numbers]) one.clear()
      if (sizeOf(sessions) > REMEMBERED) for (const one of [sessions, numbers]) one.clear()
      for (const one of [owners, tenants]) one.age()
      left.delete(tenant)
      work((rows) => ({
        numbers: { session: numberOf(`s ${rows.session} ${rows.owner}`), owner: numberOf(`o ${tenant} ${rows.owner}`) },
        session: setOf(sessions, rows.session, () => sessionWords(database, rows.session)),
        owner: rows.owner === undefined ? undefined : owners.of(rows.owner),
        tenant: tenants.of(tenant),
      }))
      left.set(tenant, lastWord(database, tenant))
    },
  }
}

type WordSets = Map<number, Set<string>>

/** Words of owners or tenants in two ages: those that come again stay, the others are given up when there are too many. */
function createLatest() {
  let young: WordSets = new Map()
  let old: WordSets = new Map()
  return {
    of(id: number): SomeWords {
      const [lately, before] = [setOf(young, id), old.get(id)]
      return {
        has: (word) => lately.has(word) || (before?.has(word) === true && lately.add(word).has(word)),
        add: (word) => void lately.add(word),
      }
    },
    age(): void {
      if (sizeOf(young) > REMEMBERED / 4) [young, old] = [new Map(), young]
    },
    clear(): void {
      for (const sets of [young, old]) sets.clear()
    },
  }
}

const sizeOf = (sets: WordSets): number => [...sets.values()].reduce((sum, { size }) => sum + size, 0)

function setOf(sets: WordSets, id: number, first: () => readonly string[] = () => []): Set<string> {
  const found = sets.get(id) ?? new Set(first())
  sets.set(id, found)
  return found
}
