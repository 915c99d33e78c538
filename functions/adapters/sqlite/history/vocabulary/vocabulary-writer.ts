import type { DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { Run } from '../../../../search/tokens/runs.ts'
import { readOne, write, type Database } from '../../database.ts'
import { audiencesOf, isLastOfOwner, reserveWords, type Audience, type SessionRows } from './audiences.ts'
import { audiencesOn, createKnownWords, hasSession, markAudiences, markSession, type Marking } from './known-words.ts'
import { quote } from '../search/scope.ts'
import { addSessionWords, hasSessionWords, takeSessionWords } from './session-words.ts'

/**
 * Maintains the words of each session, of its owner and of its tenant, in the transactions that change their documents.
 */
export interface VocabularyWriter {
  /** Adds the words of the documents of these sessions. */
  add(sessions: Iterable<SessionWords>): void
  /**
   * Removes about `limit` words of a session without documents. A tenant or an owner keeps a word that its other
   * documents have. When the session has no more words, removes the words of an owner without documents. Returns
   * whether more words remain.
   */
  forget(rows: SessionRows, limit: number): boolean
  /** Call it after a rollback of a transaction that added words. */
  undone(): void
}

export interface SessionWords {
  readonly rows: SessionRows
  /** The runs of letters and digits of each document. */
  readonly runs: (readonly Run[])[]
}

/** Words that the tenant or its owners may not have yet. */
interface Fresh {
  /** Words that may be new to the tenant, each with its owner. */
  readonly tenant: { readonly word: string; readonly owner: number }[]
  /** Words that the tenant has, but that may be new to an owner. */
  readonly owners: Map<number, string[]>
}

/** Owner id of a session without an owner. */
const NO_OWNER = 0

/** Creates the writer of the vocabulary's tables. It gets the word objects from `reader`. */
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
          // Reserves at least one id. The tenant's last word then has a greater id, which shows other processes that
          // the words have changed.
          const count = Math.max(1, fresh.tenant.length)
          const first = reserveWords(database, tenant, count)
          addFresh(database, { tenant, first }, fresh)
          ranges.push([first, first + count - 1])
        })
      // These statements write several rows each. They run last, because FTS5 writes its buffered words as a separate
      // segment before such a statement.
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

/**
 * Adds the words of documents to their session. Collects in `fresh` the words that may be new to the session's owner or
 * tenant. Returns whether any word may be new to the session, its owner or its tenant.
 */
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

/**
 * Adds the new words with ids from `first` on. Each table is written in order and in one statement. Ids of words are
 * looked up only if the tenant already has some of the words.
 */
function addFresh(
  database: Database,
  { tenant, first }: { readonly tenant: number; readonly first: number },
  fresh: Fresh,
): void {
  const sorted = fresh.tenant.toSorted((left, right) => (left.word < right.word ? -1 : 1))
  const words = JSON.stringify(sorted.map(({ word }) => word))
  const added = sorted.length === 0 ? 0 : write(database, INSERT_WORDS, first, tenant, words)
  if (added === sorted.length) addOwners(database, first, sorted)
  // The tenant already has some of these words, with other ids. The statement below finds the ids of all these words.
  else for (const { word, owner } of sorted) listOf(fresh.owners, owner).push(word)
  for (const [owner, others] of fresh.owners)
    if (owner !== NO_OWNER && others.length > 0)
      write(database, INSERT_KNOWN_OF_OWNER, owner, JSON.stringify(others.toSorted()), tenant)
}

/** Adds words that are new to the tenant to their owners' vocabularies. The ids of the words start at `first`. */
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

/** A word of a tenant, with its id. */
export interface KnownWord {
  readonly id: number
  readonly word: string
}

/**
 * Removes each of these words from the owner if no document of the owner has the word. Removes it from the tenant if no
 * document of the tenant has it.
 */
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
  // Words are removed in the order of their ids. Whenever an id decreases, FTS5 writes its buffered words as a separate
  // segment.
  for (const one of gone.toSorted((left, right) => left.id - right.id)) removeWord(database, one)
}

/** Removes a word of a tenant, but not the owners' references to it. Call it inside a transaction. */
export function removeWord(database: Database, { id, word }: KnownWord): void {
  write(database, 'DELETE FROM historyVocabulary WHERE id = ?', id)
  // The table `historyWordParts` stores no content, so a deletion must repeat the word.
  write(database, "INSERT INTO historyWordParts (historyWordParts, rowid, word) VALUES ('delete', ?, ?)", id, word)
}

/**
 * Removes about `limit` words of an owner without documents, and returns whether more remain. An owner may still have a
 * word that another session's deletion removed from the tenant. The removed word has no id, so the owner's last session
 * could not remove it.
 */
function forgetOwner(database: Database, owner: number, limit: number): boolean {
  const some = 'SELECT word FROM historyOwnerWords WHERE owner = ?1 LIMIT ?2'
  write(database, `DELETE FROM historyOwnerWords WHERE owner = ?1 AND word IN (${some})`, owner, limit)
  return readOne(database, 'SELECT 1 FROM historyOwnerWords WHERE owner = ? LIMIT 1', owner) !== undefined
}

/** Whether a document of the audience has the word. */
export function hasWord(database: Database, { documents, range, tokens }: Audience, word: string): boolean {
  if (documents === 0) return false
  const sql = 'SELECT 1 FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1'
  return readOne(database, sql, [quote(word), ...tokens].join(' AND '), range.first, range.last) !== undefined
}
