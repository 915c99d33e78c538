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
  /** Words that stand in documents of these sessions. */
  add(sessions: Iterable<SessionWords>): void
  /** Forgets so many words of a session without documents, unless another session has them; returns whether it has more. */
  forget(rows: SessionRows, limit: number): boolean
}

export interface SessionWords {
  readonly rows: SessionRows
  readonly words: Iterable<string>
}

type Range = readonly [first: number, last: number]

/** Ranges that follow each other become one. */
function joined(ranges: readonly Range[]): Range[] {
  const whole: Range[] = []
  for (const [first, last] of ranges) {
    const before = whole.at(-1)
    if (before?.[1] === first - 1) whole.splice(-1, 1, [before[0], last])
    else whole.push([first, last])
  }
  return whole
}

/** The vocabulary's tables. */
export function createVocabularyWriter(database: Database): VocabularyWriter {
  const known = createKnownWords(database)
  return {
    add(sessions) {
      const reserved: Range[] = []
      for (const { rows, words } of sessions) {
        const { words: before, isWhole } = known.of(rows)
        const missing: string[] = []
        for (const word of words) if (!before.has(word) && isKnowable(word)) missing.push(word)
        if (missing.length === 0) continue
        const first = reserveWords(database, rows, missing.length)
        const last = first + missing.length - 1
        const list = JSON.stringify(missing.toSorted())
        addWords(database, rows, isWhole ? list : freshOf(database, rows, list), first)
        known.remember(rows, missing, last)
        reserved.push([first, last])
      }
      // At the end, in few statements: each would write what the one before has gathered as a segment of its own.
      for (const [first, last] of joined(reserved)) write(database, INSERT_PARTS, first, last)
    },
    forget(rows, limit) {
      reserveWords(database, rows, 1)
      return forgetWords(database, rows, limit)
    },
  }
}

/** What is remembered of a session's words. `isWhole`: it has no others. */
interface KnownWords {
  readonly words: Set<string>
  readonly isWhole: boolean
}

/**
 * Words that the tables are known to have: most words of a session come again. Everything is given up when the tenant's words
 * are not as they were left: another process has changed them, some were forgotten, or a transaction was undone.
 */
function createKnownWords(database: Database) {
  const left = new Map<number, number>()
  const sessions = new Map<number, KnownWords>()
  let size = 0
  return {
    of(rows: SessionRows): KnownWords {
      if (left.get(rows.tenant) !== lastWord(database, rows) || size > REMEMBERED) {
        sessions.clear()
        left.clear()
        size = 0
      }
      const known = sessions.get(rows.session) ?? { words: new Set(), isWhole: !hasWords(database, rows) }
      sessions.set(rows.session, known)
      return known
    },
    /** `last`: the tenant's last word, once these are there. */
    remember(rows: SessionRows, words: readonly string[], last: number): void {
      const known = sessions.get(rows.session)
      for (const word of words) known?.words.add(word)
      left.set(rows.tenant, last)
      size += words.length
    },
  }
}

const hasWords = (database: Database, { session }: SessionRows): boolean =>
  readOne(database, 'SELECT 1 FROM historyWordUses WHERE audience = ? LIMIT 1', session) !== undefined

/** Those of a JSON list of words that the session does not have: in one value, for rows cost more than the look-up. */
function freshOf(database: Database, { tenant, session }: SessionRows, words: string): string {
  const sql = `SELECT json_group_array(w.value) AS fresh FROM json_each(?) w WHERE NOT EXISTS (
    SELECT 1 FROM historyVocabulary v JOIN historyWordUses u ON u.audience = ? AND u.word = v.id
    WHERE v.tenant = ? AND v.word = w.value)`
  return readOne<{ fresh: string }>(database, sql, words, session, tenant)?.fresh ?? '[]'
}

/**
 * Adds a JSON list of words that the session does not have, sorted; new words get ids from `first` on. Each table is
 * written in one statement, and no word is read back: either would cost more than all else.
 */
function addWords(database: Database, { tenant, session, owner }: SessionRows, words: string, first: number): void {
  write(
    database,
    `INSERT INTO historyVocabulary (id, tenant, word, uses) SELECT ? + key, ?, value, 1 FROM json_each(?) WHERE true
     ON CONFLICT (tenant, word) DO UPDATE SET uses = uses + 1`,
    first,
    tenant,
    words,
  )
  const uses = `INSERT INTO historyWordUses (audience, word, uses) SELECT ?, v.id, 1 FROM json_each(?) w
    CROSS JOIN historyVocabulary v ON v.tenant = ? AND v.word = w.value`
  write(database, uses, session, words, tenant)
  if (owner !== undefined)
    write(
      database,
      `${uses} WHERE true ON CONFLICT (audience, word) DO UPDATE SET uses = uses + 1`,
      owner,
      words,
      tenant,
    )
}

const INSERT_PARTS = `INSERT INTO historyWordParts (rowid, word)
  SELECT id, word FROM historyVocabulary WHERE id BETWEEN ? AND ?`

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
