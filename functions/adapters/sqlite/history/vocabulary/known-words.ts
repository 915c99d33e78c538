import type { DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { Marks } from '../../../../search/tokens/word-table.ts'
import type { Database } from '../../database.ts'
import { lastWord, type SessionRows } from './audiences.ts'
import { sessionWords } from './session-words.ts'

/** Bits of a number that cost nothing more: so many sessions, and so many owners and tenants, are told apart at a time. */
const MAX_MARK_BITS = 30

/** What says of a word that the tables have it, and of a run that they have all of its words: bits, and their age. */
export interface Marking {
  readonly sessionAge: number
  readonly session: number
  readonly audienceAge: number
  readonly tenant: number
  /** None, for a session without. */
  readonly owner: number
}

/** Whether nothing is new to the session. */
export const hasSession = (marks: Marks, { sessionAge, session }: Marking): boolean =>
  marks.sessionAge === sessionAge && (marks.sessions & session) !== 0

/** Which of the tenant and the owner have it. */
export const audiencesOn = (marks: Marks, { audienceAge, tenant, owner }: Marking): number =>
  marks.audienceAge === audienceAge ? marks.audiences & (tenant | owner) : 0

export function markSession(marks: Marks, { sessionAge, session }: Marking): void {
  marks.sessions = marks.sessionAge === sessionAge ? marks.sessions | session : session
  marks.sessionAge = sessionAge
}

export function markAudiences(marks: Marks, { audienceAge, tenant, owner }: Marking): void {
  marks.audiences = (marks.audienceAge === audienceAge ? marks.audiences : 0) | tenant | owner
  marks.audienceAge = audienceAge
}

/** Gives out marks; a new age begins when there are no more. */
function createMarks() {
  const given = new Map<number, number>()
  let age = 1
  const begin = (): void => {
    age++
    given.clear()
  }
  return {
    begin,
    has: (id: number): boolean => given.has(id),
    /** The bits of these, in the same age. */
    of(...ids: readonly number[]): { readonly age: number; readonly bits: readonly number[] } {
      if (given.size + ids.filter((id) => !given.has(id)).length > MAX_MARK_BITS) begin()
      for (const id of ids) if (!given.has(id)) given.set(id, 1 << given.size)
      return { age, bits: ids.map((id) => given.get(id) ?? 0) }
    },
  }
}

/**
 * Remembers on the words themselves which of them the tables have: most come again. Nothing is known any more when the tenant's
 * words are not as they were left: another process has changed them, some were forgotten, or a transaction was undone.
 */
export function createKnownWords(database: Database, { word }: Pick<DocumentReader, 'word'>) {
  const left = new Map<number, number>()
  const sessions = createMarks()
  const audiences = createMarks()

  const markingOf = ({ tenant, owner, session }: SessionRows): Marking => {
    const isKnown = sessions.has(session)
    const ofSession = sessions.of(session)
    // Ids of tenants and of owners are numbers of different tables.
    const ofAudiences = audiences.of(-tenant, ...(owner === undefined ? [] : [owner]))
    const marking = {
      sessionAge: ofSession.age,
      session: ofSession.bits[0] ?? 0,
      audienceAge: ofAudiences.age,
      tenant: ofAudiences.bits[0] ?? 0,
      owner: ofAudiences.bits[1] ?? 0,
    }
    if (!isKnown) for (const text of sessionWords(database, session)) markSession(word(text), marking)
    return marking
  }

  return {
    /** Runs `work`, which adds words of the tenant to its tables and marks them. */
    adding(tenant: number, work: (of: (rows: SessionRows) => Marking) => void): void {
      if (left.get(tenant) !== lastWord(database, tenant)) for (const one of [sessions, audiences]) one.begin()
      left.delete(tenant)
      work(markingOf)
      left.set(tenant, lastWord(database, tenant))
    },
    /** A transaction was undone: others may add as many words as it had added, so their number does not say it. */
    doubt: (): void => left.clear(),
  }
}
