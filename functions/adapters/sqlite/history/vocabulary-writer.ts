import type { Run } from '../../../search/known-runs.ts'
import { readOne, write, type Database } from '../database.ts'
import { audiencesOf, reserveWords, type Audience, type SessionRows } from './audiences.ts'
import { createKnownWords, type KnownWords, type SomeWords } from './known-words.ts'
import { quote } from './scope.ts'
import { addSessionWords, hasSessionWords, takeSessionWords } from './session-words.ts'

/** Keeps the words of each session, of its owner and of its tenant, in the transactions that change their documents. */
export interface VocabularyWriter {
  /** Words that stand in documents of these sessions. */
  add(sessions: Iterable<SessionWords>): void
  /** Forgets about so many words of a session without documents, unless another session has them; returns whether it has more. */
  forget(rows: SessionRows, limit: number): boolean
}

export interface SessionWords {
  readonly rows: SessionRows
  readonly runs: readonly Run[]
}

/** Words that an owner and a tenant may not have yet. */
interface Fresh {
  readonly tenant: Set<string>
  readonly owners: Map<number, Set<string>>
}

/** The vocabulary's tables. */
export function createVocabularyWriter(database: Database): VocabularyWriter {
  const known = createKnownWords(database)
  return {
    add(sessions) {
      const ranges: [first: number, last: number][] = []
      for (const [tenant, all] of Map.groupBy(sessions, ({ rows }) => rows.tenant))
        known.adding(tenant, (of) => {
          const fresh: Fresh = { tenant: new Set(), owners: new Map() }
          let changed = false
          for (const one of all) changed = addToSession(database, one, of(one.rows), fresh) || changed
          if (!changed) return
          // The number of the last word says that something has changed: it grows in any case.
          const count = Math.max(1, fresh.tenant.size)
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
      return hasSessionWords(database, rows.session)
    },
  }
}

/** Returns whether any of the words may be new to the session, its owner or its tenant. */
function addToSession(database: Database, { rows, runs }: SessionWords, known: KnownWords, fresh: Fresh): boolean {
  const { session, owner, tenant, numbers } = known
  const ofOwner = rows.owner === undefined ? undefined : (fresh.owners.get(rows.owner) ?? new Set())
  if (rows.owner !== undefined && ofOwner !== undefined) fresh.owners.set(rows.owner, ofOwner)
  const added: string[] = []
  let changed = false
  for (const run of runs) {
    if (run.knownToSession === numbers.session) continue
    run.knownToSession = numbers.session
    for (const word of run.knowable) {
      const before = session.size
      if (session.add(word).size > before) added.push(word)
    }
    if (run.knownToOwner === numbers.owner) continue
    run.knownToOwner = numbers.owner
    for (const word of run.knowable) {
      const isNew = note(word, tenant, fresh.tenant)
      changed = (owner !== undefined && ofOwner !== undefined && note(word, owner, ofOwner)) || isNew || changed
    }
  }
  addSessionWords(database, rows.session, added)
  return changed || added.length > 0
}

/** Returns whether it may be new. */
function note(word: string, known: SomeWords, fresh: Set<string>): boolean {
  if (known.has(word)) return false
  known.add(word)
  fresh.add(word)
  return true
}

/** New words get ids from `first` on. Each table is written in order and in one statement, and no word is read back. */
function addFresh(
  database: Database,
  { tenant, first }: { readonly tenant: number; readonly first: number },
  fresh: Fresh,
): void {
  const sorted = (words: Set<string>): string => JSON.stringify([...words].toSorted())
  if (fresh.tenant.size > 0)
    write(
      database,
      'INSERT OR IGNORE INTO historyVocabulary (id, tenant, word) SELECT ? + key, ?, value FROM json_each(?)',
      first,
      tenant,
      sorted(fresh.tenant),
    )
  for (const [owner, words] of fresh.owners)
    if (words.size > 0)
      write(
        database,
        `INSERT OR IGNORE INTO historyOwnerWords (owner, word) SELECT ?, v.id FROM json_each(?) w
         CROSS JOIN historyVocabulary v ON v.tenant = ? AND v.word = w.value`,
        owner,
        sorted(words),
        tenant,
      )
}

const INSERT_PARTS = `INSERT INTO historyWordParts (rowid, word)
  SELECT id, word FROM historyVocabulary WHERE id BETWEEN ? AND ?`

/** Forgets those of the words that no document of the owner, or of the tenant, has any more. */
function forgetWords(database: Database, rows: SessionRows, words: readonly string[]): void {
  const { tenant, owner } = audiencesOf(database, rows)
  for (const word of words) {
    if (owner !== undefined && hasWord(database, owner, word)) continue
    const sql = 'SELECT id FROM historyVocabulary WHERE tenant = ? AND word = ?'
    const id = readOne<{ id: number }>(database, sql, rows.tenant, word)?.id
    if (id === undefined) continue
    if (rows.owner !== undefined)
      write(database, 'DELETE FROM historyOwnerWords WHERE owner = ? AND word = ?', rows.owner, id)
    if (tenant !== undefined && hasWord(database, tenant, word)) continue
    write(database, 'DELETE FROM historyVocabulary WHERE id = ?', id)
    // This table keeps no content: the delete must say what it had.
    write(database, "INSERT INTO historyWordParts (historyWordParts, rowid, word) VALUES ('delete', ?, ?)", id, word)
  }
}

function hasWord(database: Database, { documents, range, tokens }: Audience, word: string): boolean {
  if (documents === 0) return false
  const sql = 'SELECT 1 FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1'
  return readOne(database, sql, [quote(word), ...tokens].join(' AND '), range.first, range.last) !== undefined
}
