import type { DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { Run } from '../../../../search/tokens/runs.ts'
import { readOne, write, type Database } from '../../database.ts'
import { audiencesOf, isLastOfOwner, reserveWords, type Audience, type SessionRows } from './audiences.ts'
import { audiencesOn, createKnownWords, hasSession, markAudiences, markSession, type Marking } from './known-words.ts'
import { quote } from '../search/scope.ts'
import { addSessionWords, hasSessionWords, takeSessionWords } from './session-words.ts'

/** Keeps the words of each session, of its owner and of its tenant, in the transactions that change their documents. */
export interface VocabularyWriter {
  /** Words that stand in documents of these sessions. */
  add(sessions: Iterable<SessionWords>): void
  /**
   * Forgets about so many words of a session without documents, unless another session has them, and then those that its owner has
   * left without a document; returns whether there are more.
   */
  forget(rows: SessionRows, limit: number): boolean
  /** Call when a transaction that has added words was undone. */
  undone(): void
}

export interface SessionWords {
  readonly rows: SessionRows
  /** Of each of its documents. */
  readonly runs: (readonly Run[])[]
}

/** Words that tenants and owners may not have yet. */
interface Fresh {
  /** Those of the tenant, each with the owner who has it. */
  readonly tenant: { readonly word: string; readonly owner: number }[]
  /** Those of owners that the tenant has. */
  readonly owners: Map<number, string[]>
}

/** Stands for the owner of a session that has none. */
const NO_OWNER = 0

/** The vocabulary's tables, for words of this reader. */
export function createVocabularyWriter(database: Database, reader: Pick<DocumentReader, 'word'>): VocabularyWriter {
  const known = createKnownWords(database, reader)
  return {
    add(sessions) {
      const ranges: [first: number, last: number][] = []
      for (const [tenant, all] of Map.groupBy(sessions, ({ rows }) => rows.tenant))
        known.adding(tenant, (of) => {
          const fresh: Fresh = { tenant: [], owners: new Map() }
          let changed = false
          for (const one of all) changed = addToSession(database, one, of(one.rows), fresh) || changed
          if (!changed) return
          // The number of the last word says that something has changed: it grows in any case.
          const count = Math.max(1, fresh.tenant.length)
          const first = reserveWords(database, tenant, count)
          addFresh(database, { tenant, first }, fresh)
          ranges.push([first, first + count - 1])
        })
      // At the end: each statement for several rows would write what the one before has gathered as a segment of its own.
      for (const [first, last] of ranges) write(database, INSERT_PARTS, first, last)
    },
    forget(rows, limit) {
      reserveWords(database, rows.tenant, 1)
      forgetWords(database, rows, takeSessionWords(database, rows.session, limit))
      if (hasSessionWords(database, rows.session)) return true
      return rows.owner !== undefined && isLastOfOwner(database, rows) && forgetOwner(database, rows.owner, limit)
    },
    undone: known.doubt,
  }
}

/** Returns whether any of the words may be new to the session, its owner or its tenant. */
function addToSession(database: Database, { rows, runs }: SessionWords, marking: Marking, fresh: Fresh): boolean {
  const owner = rows.owner ?? NO_OWNER
  const ofOwner = listOf(fresh.owners, owner)
  const all = marking.tenant | marking.owner
  const added: string[] = []
  const before = fresh.tenant.length + ofOwner.length
  for (const ofDocument of runs)
    for (const run of ofDocument) {
      if (!hasSession(run, marking))
        for (const word of run.knowable) {
          if (!hasSession(word, marking)) added.push(word.text)
          markSession(word, marking)
        }
      markSession(run, marking)
      if (audiencesOn(run, marking) === all) continue
      for (const word of run.knowable) {
        const having = audiencesOn(word, marking)
        if ((having & marking.tenant) === 0) fresh.tenant.push({ word: word.text, owner })
        else if (having !== all) ofOwner.push(word.text)
        markAudiences(word, marking)
      }
      markAudiences(run, marking)
    }
  addSessionWords(database, rows.session, added)
  return added.length > 0 || fresh.tenant.length + ofOwner.length > before
}

function listOf(lists: Map<number, string[]>, owner: number): string[] {
  const found = lists.get(owner) ?? []
  lists.set(owner, found)
  return found
}

/** New words get ids from `first` on. Each table is written in order and in one statement, and hardly a word is read back. */
function addFresh(
  database: Database,
  { tenant, first }: { readonly tenant: number; readonly first: number },
  fresh: Fresh,
): void {
  const sorted = fresh.tenant.toSorted((left, right) => (left.word < right.word ? -1 : 1))
  const words = JSON.stringify(sorted.map(({ word }) => word))
  const added = sorted.length === 0 ? 0 : write(database, INSERT_WORDS, first, tenant, words)
  if (added === sorted.length) addOwners(database, first, sorted)
  // The tenant has had some of them before, under other ids.
  else for (const { word, owner } of sorted) listOf(fresh.owners, owner).push(word)
  for (const [owner, others] of fresh.owners)
    if (owner !== NO_OWNER && others.length > 0)
      write(database, INSERT_KNOWN_OF_OWNER, owner, JSON.stringify(others.toSorted()), tenant)
}

/** Words that the tenant did not have before, with ids from `first` on. */
function addOwners(database: Database, first: number, words: Fresh['tenant']): void {
  if (words.some(({ owner }) => owner !== NO_OWNER))
    write(database, INSERT_NEW_OF_OWNERS, first, JSON.stringify(words.map(({ owner }) => owner)))
}

const INSERT_WORDS = `INSERT OR IGNORE INTO historyVocabulary (id, tenant, word)
  SELECT ? + key, ?, value FROM json_each(?)`
const INSERT_NEW_OF_OWNERS = `INSERT INTO historyOwnerWords (owner, word)
  SELECT value, ? + key FROM json_each(?) WHERE value <> ${NO_OWNER}`
const INSERT_KNOWN_OF_OWNER = `INSERT OR IGNORE INTO historyOwnerWords (owner, word)
  SELECT ?, v.id FROM json_each(?) w CROSS JOIN historyVocabulary v ON v.tenant = ? AND v.word = w.value`
const INSERT_PARTS = `INSERT INTO historyWordParts (rowid, word)
  SELECT id, word FROM historyVocabulary WHERE id BETWEEN ? AND ?`

/** A word of a tenant. */
export interface KnownWord {
  readonly id: number
  readonly word: string
}

/** Forgets those of the words that no document of the owner, or of the tenant, has any more. */
function forgetWords(database: Database, rows: SessionRows, words: readonly string[]): void {
  const { tenant, owner } = audiencesOf(database, rows)
  const gone: KnownWord[] = []
  for (const word of words) {
    if (owner !== undefined && hasWord(database, owner, word)) continue
    const sql = 'SELECT id FROM historyVocabulary WHERE tenant = ? AND word = ?'
    const id = readOne<{ id: number }>(database, sql, rows.tenant, word)?.id
    if (id === undefined) continue
    if (rows.owner !== undefined)
      write(database, 'DELETE FROM historyOwnerWords WHERE owner = ? AND word = ?', rows.owner, id)
    if (tenant === undefined || !hasWord(database, tenant, word)) gone.push({ id, word })
  }
  // FTS5 writes what it has gathered as a segment of its own whenever an id is less than the one before.
  for (const one of gone.toSorted((left, right) => left.id - right.id)) removeWord(database, one)
}

/** Inside a transaction: removes a word of a tenant. Those of owners that name it stay. */
export function removeWord(database: Database, { id, word }: KnownWord): void {
  write(database, 'DELETE FROM historyVocabulary WHERE id = ?', id)
  // This table keeps no content: the delete must say what it had.
  write(database, "INSERT INTO historyWordParts (historyWordParts, rowid, word) VALUES ('delete', ?, ?)", id, word)
}

/**
 * Forgets about so many words of an owner without documents; returns whether there are more. Another session may have forgotten a word
 * of the tenant while the owner's last session still had it: that word has no id any more by which the session could forget it.
 */
function forgetOwner(database: Database, owner: number, limit: number): boolean {
  const some = 'SELECT word FROM historyOwnerWords WHERE owner = ?1 LIMIT ?2'
  write(database, `DELETE FROM historyOwnerWords WHERE owner = ?1 AND word IN (${some})`, owner, limit)
  return readOne(database, 'SELECT 1 FROM historyOwnerWords WHERE owner = ? LIMIT 1', owner) !== undefined
}

/** Whether a document that the audience sees has the word. */
export function hasWord(database: Database, { documents, range, tokens }: Audience, word: string): boolean {
  if (documents === 0) return false
  const sql = 'SELECT 1 FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1'
  return readOne(database, sql, [quote(word), ...tokens].join(' AND '), range.first, range.last) !== undefined
}
