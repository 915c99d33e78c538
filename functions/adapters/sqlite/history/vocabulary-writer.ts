import { readAll, readOne, write, type Database } from '../database.ts'
import { lastWord, reserveWords, type SessionRows } from './audiences.ts'

/** Letters of the words that are known: shorter ones are no pieces worth finding, longer ones are data. */
const SHORTEST = 3
const LONGEST = 64
const WORD = /^[\p{L}\p{N}\p{M}]+$/u
/** Words of sessions that are remembered as known, over all sessions. */
const REMEMBERED = 200_000

const isKnowable = (word: string): boolean => word.length >= SHORTEST && word.length <= LONGEST && WORD.test(word)

/** Keeps the words of each session, of its owner and of its tenant, in the transactions that change their documents. */
export interface VocabularyWriter {
  /** Words that stand in documents of the session. */
  add(rows: SessionRows, words: Iterable<string>): void
  /** Forgets so many words of a session without documents, unless another session has them; returns whether it has more. */
  forget(rows: SessionRows, limit: number): boolean
}

/** The vocabulary's tables. */
export function createVocabularyWriter(database: Database): VocabularyWriter {
  const known = createKnownWords(database)
  return {
    add(rows, words) {
      const before = known.of(rows)
      const missing = new Set<string>()
      for (const word of words) if (!before.has(word) && isKnowable(word)) missing.add(word)
      if (missing.size === 0) return
      known.remember(rows, missing, addWords(database, rows, [...missing]))
    },
    forget(rows, limit) {
      reserveWords(database, rows, 1)
      return forgetWords(database, rows, limit)
    },
  }
}

/**
 * Words that the tables are known to have: most words of a session come again. Everything is given up when the tenant's words
 * are not as they were left: another process has changed them, some were forgotten, or a transaction was undone.
 */
function createKnownWords(database: Database) {
  const left = new Map<number, number>()
  let sessions = new Map<number, Set<string>>()
  let size = 0
  return {
    of(rows: SessionRows): ReadonlySet<string> {
      if (left.get(rows.tenant) !== lastWord(database, rows) || size > REMEMBERED) {
        sessions = new Map()
        left.clear()
        size = 0
      }
      return sessions.get(rows.session) ?? new Set()
    },
    /** `last`: the tenant's last word, once these are there. */
    remember(rows: SessionRows, words: ReadonlySet<string>, last: number): void {
      const all = sessions.get(rows.session) ?? new Set()
      for (const word of words) all.add(word)
      sessions.set(rows.session, all)
      left.set(rows.tenant, last)
      size += words.size
    },
  }
}

/**
 * Returns the tenant's last word. Each table is written in one statement, in the order of its keys: a statement for each word
 * costs more than all else.
 */
function addWords(database: Database, rows: SessionRows, words: readonly string[]): number {
  const first = reserveWords(database, rows, words.length)
  const fresh = readAll<{ word: string; id: number | null }>(
    database,
    `SELECT w.value AS word, v.id FROM json_each(?) w
     LEFT JOIN historyVocabulary v ON v.tenant = ? AND v.word = w.value
     WHERE NOT EXISTS (SELECT 1 FROM historyWordUses u WHERE u.audience = ? AND u.word = v.id)`,
    JSON.stringify(words.toSorted()),
    rows.tenant,
    rows.session,
  )
  const added = fresh.flatMap(({ word, id }, place) => (id === null ? [{ id: first + place, word }] : []))
  const before = fresh.flatMap(({ id }) => (id === null ? [] : [id])).toSorted((left, right) => left - right)
  const all = [...before, ...added.map(({ id }) => id)]
  countWords(database, before)
  useWords(database, rows.session, all)
  if (rows.owner !== undefined) useWords(database, rows.owner, all)
  insertWords(database, rows, added)
  return first + words.length - 1
}

function countWords(database: Database, ids: readonly number[]): void {
  if (ids.length === 0) return
  const sql = 'UPDATE historyVocabulary SET uses = uses + 1 WHERE id IN (SELECT value FROM json_each(?))'
  write(database, sql, JSON.stringify(ids))
}

/** One session more of the audience has these words. */
function useWords(database: Database, audience: number, ids: readonly number[]): void {
  if (ids.length === 0) return
  const missing = 'INSERT OR IGNORE INTO historyWordUses (audience, word, uses) SELECT ?, value, 0 FROM json_each(?)'
  write(database, missing, audience, JSON.stringify(ids))
  const one = `UPDATE historyWordUses SET uses = uses + 1
    WHERE audience = ? AND word IN (SELECT value FROM json_each(?))`
  write(database, one, audience, JSON.stringify(ids))
}

function insertWords(
  database: Database,
  { tenant }: SessionRows,
  words: readonly { readonly id: number; readonly word: string }[],
): void {
  if (words.length === 0) return
  const list = JSON.stringify(words)
  write(
    database,
    `INSERT INTO historyVocabulary (id, tenant, word, uses)
     SELECT value ->> 'id', ?, value ->> 'word', 1 FROM json_each(?)`,
    tenant,
    list,
  )
  const parts = "INSERT INTO historyWordParts (rowid, word) SELECT value ->> 'id', value ->> 'word' FROM json_each(?)"
  write(database, parts, list)
}

function forgetWords(database: Database, { session, owner }: SessionRows, limit: number): boolean {
  const words = readAll<{ word: number }>(
    database,
    'SELECT word FROM historyWordUses WHERE audience = ? LIMIT ?',
    session,
    limit,
  )
  for (const { word } of words) {
    write(database, 'DELETE FROM historyWordUses WHERE audience = ? AND word = ?', session, word)
    if (owner !== undefined) {
      write(database, 'UPDATE historyWordUses SET uses = uses - 1 WHERE audience = ? AND word = ?', owner, word)
      write(database, 'DELETE FROM historyWordUses WHERE audience = ? AND word = ? AND uses < 1', owner, word)
    }
    write(database, 'UPDATE historyVocabulary SET uses = uses - 1 WHERE id = ?', word)
    const sql = 'SELECT uses, word FROM historyVocabulary WHERE id = ?'
    const left = readOne<{ uses: number; word: string }>(database, sql, word)
    if (left === undefined || left.uses > 0) continue
    write(database, 'DELETE FROM historyVocabulary WHERE id = ?', word)
    // This table keeps no content: the delete must say what it had.
    const remove = "INSERT INTO historyWordParts (historyWordParts, rowid, word) VALUES ('delete', ?, ?)"
    write(database, remove, word, left.word)
  }
  return readOne(database, 'SELECT 1 FROM historyWordUses WHERE audience = ? LIMIT 1', session) !== undefined
}
