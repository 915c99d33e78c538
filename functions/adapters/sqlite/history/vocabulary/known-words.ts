import type { DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { Marks } from '../../../../search/tokens/word-table.ts'
import type { Database } from '../../database.ts'
import { lastWord, type SessionRows } from './audiences.ts'
import { sessionWords } from './session-words.ts'

/**
 * Number of bits that a JavaScript number holds without extra memory. Bits are assigned to sessions, and separately to
 * owners and tenants. So this number limits how many ids can be distinguished at a time.
 */
const MAX_MARK_BITS = 30

/**
 * Bits of a session, its tenant and its owner. In the marks of a word, such a bit means that the tables already have
 * the word. In the marks of a run of characters, it means that they have all words of the run. A bit is valid only
 * within the age in which it was assigned.
 */
export interface Marking {
  readonly sessionAge: number
  readonly session: number
  readonly audienceAge: number
  readonly tenant: number
  /** Zero for a session without an owner. */
  readonly owner: number
}

/** Whether the marks show that the session already has the marked word, or all words of the marked run. */
export const hasSession = (marks: Marks, { sessionAge, session }: Marking): boolean =>
  marks.sessionAge === sessionAge && (marks.sessions & session) !== 0

/**
 * Returns which of the tenant's and the owner's bits the marks contain. If a bit is contained, the tables already have
 * the marked words for its tenant or owner.
 */
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

/** Assigns bits to ids. When all bits are assigned, a new age begins, which makes all earlier bits invalid. */
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
    /** Returns the bits of these ids, and the age in which all of these bits are assigned. */
    of(...ids: readonly number[]): { readonly age: number; readonly bits: readonly number[] } {
      if (given.size + ids.filter((id) => !given.has(id)).length > MAX_MARK_BITS) begin()
      for (const id of ids) if (!given.has(id)) given.set(id, 1 << given.size)
      return { age, bits: ids.map((id) => given.get(id) ?? 0) }
    },
  }
}

/**
 * Records in each word object whether the tables have the word, because most words recur. All marks become invalid if
 * the tenant's words are changed by another process, a removal of words, or a rollback.
 */
export function createKnownWords(database: Database, { word }: Pick<DocumentReader, 'word'>) {
  const left = new Map<number, number>()
  const sessions = createMarks()
  const audiences = createMarks()

  const markingOf = ({ tenant, owner, session }: SessionRows): Marking => {
    const isKnown = sessions.has(session)
    const ofSession = sessions.of(session)
    // The tenant's id is negated, because it may equal the owner's id: the ids come from two tables.
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
    /** Runs `work`, which adds words of the tenant to the tables and marks these words. */
    adding(tenant: number, work: (of: (rows: SessionRows) => Marking) => void): void {
      if (left.get(tenant) !== lastWord(database, tenant)) for (const one of [sessions, audiences]) one.begin()
      left.delete(tenant)
      work(markingOf)
      left.set(tenant, lastWord(database, tenant))
    },
    /**
     * Makes all marks invalid. Call it after a rollback. Otherwise, a change by another process could remain unnoticed:
     * if that process adds as many words as were rolled back, the id of the last word is as before.
     */
    doubt: (): void => left.clear(),
  }
}
