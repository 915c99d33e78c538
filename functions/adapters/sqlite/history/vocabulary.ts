import type { Vocabulary } from '../../../search/plan.ts'
import { slipsOf } from '../../../search/word-forms.ts'
import { readAll, readOne, statement, write, type Database } from '../database.ts'
import { quote } from './scope.ts'

export interface VocabularyWriter {
  /** Words that stand in a document which was just inserted. */
  add(words: readonly string[]): void
  /** Words of documents that were just deleted: those that stand in no other are forgotten. */
  forget(words: readonly string[]): void
}

/** Letters of the words that are known: shorter ones are no pieces worth finding, longer ones are data. */
const SHORTEST = 3
const LONGEST = 64
const WORD = /^[\p{L}\p{N}\p{M}]+$/u
/** From this length on, half a word is enough to look for words that resemble it. */
const SHORTEST_HALVED = 6
/** Counted frequencies that are kept. */
const REMEMBERED = 20_000
/** Frequencies above this are costly to count, and remembered until the index has grown by a tenth. */
const COUNTED_EACH_TIME = 500

/** Keeps the words of the index, in the transactions that change its documents. */
export function createVocabularyWriter(database: Database): VocabularyWriter {
  return {
    add(words) {
      for (const word of unknown(database, words.filter(isKnowable))) addWord(database, word)
    },
    forget(words) {
      for (const word of new Set(words))
        if (isKnowable(word) && frequencyOf(database, word) === 0) removeWord(database, word)
    },
  }
}

const isKnowable = (word: string): boolean => word.length >= SHORTEST && word.length <= LONGEST && WORD.test(word)
/** Sorts after every word that continues a prefix. */
const LAST = '\u{10FFFF}'

/** One statement for all words of a document: nearly all of them are known. */
function unknown(database: Database, words: readonly string[]): string[] {
  const rows = readAll<{ value: string }>(
    database,
    'SELECT DISTINCT value FROM json_each(?) WHERE value NOT IN (SELECT word FROM historyVocabulary)',
    JSON.stringify(words),
  )
  return rows.map(({ value }) => value)
}

function addWord(database: Database, word: string): void {
  const { lastInsertRowid } = statement(database, 'INSERT INTO historyVocabulary (word) VALUES (?)').run(word)
  write(database, 'INSERT INTO historyWordParts (rowid, word) VALUES (?, ?)', lastInsertRowid, word)
}

function removeWord(database: Database, word: string): void {
  const row = readOne<{ id: number }>(database, 'DELETE FROM historyVocabulary WHERE word = ? RETURNING id', word)
  if (row === undefined) return
  // This table keeps no contents: it must be told what it had.
  write(database, "INSERT INTO historyWordParts (historyWordParts, rowid, word) VALUES ('delete', ?, ?)", row.id, word)
}

function frequencyOf(database: Database, token: string): number {
  return readOne<{ doc: number }>(database, 'SELECT doc FROM historyWordCounts WHERE term = ?', token)?.doc ?? 0
}

/** Reads the words of the index, as the query planner wants them. */
export function createVocabulary(database: Database): { now(): Vocabulary } {
  const counted = new Map<string, { frequency: number; documents: number }>()
  return {
    now() {
      const documents = readOne<{ id: number | null }>(database, 'SELECT max(id) AS id FROM historyDocuments')?.id ?? 0
      return {
        documents,
        frequency(token) {
          const known = counted.get(token)
          if (known !== undefined && documents <= known.documents * 1.1) return known.frequency
          const frequency = frequencyOf(database, token)
          if (frequency > COUNTED_EACH_TIME) remember(counted, token, { frequency, documents })
          return frequency
        },
        startingWith: (prefix, limit) => startingWith(database, prefix, limit),
        resembling: (word) => resembling(database, word),
        containing: (part, limit) => containing(database, part, limit),
      }
    },
  }
}

function remember<Value>(cache: Map<string, Value>, key: string, value: Value): void {
  if (cache.size >= REMEMBERED) cache.clear()
  cache.set(key, value)
}

function startingWith(database: Database, prefix: string, limit: number): string[] {
  const rows = readAll<{ word: string }>(
    database,
    'SELECT word FROM historyVocabulary WHERE word >= ? AND word < ? ORDER BY length(word) LIMIT ?',
    prefix,
    prefix + LAST,
    limit,
  )
  return rows.map(({ word }) => word)
}

function existing(database: Database, words: readonly string[]): string[] {
  const rows = readAll<{ word: string }>(
    database,
    'SELECT word FROM historyVocabulary WHERE word IN (SELECT value FROM json_each(?))',
    JSON.stringify(words),
  )
  return rows.map(({ word }) => word)
}

function resembling(database: Database, word: string): string[] {
  const letters = Array.from(word)
  if (letters.length < SHORTEST_HALVED) return existing(database, slipsOf(word))
  const half = Math.floor(letters.length / 2)
  const first = letters.slice(0, half).join('')
  const last = letters.slice(half).join('')
  const rows = readAll<{ word: string }>(
    database,
    `SELECT word FROM historyVocabulary
     WHERE word >= ?1 AND word < ?1 || ?2 AND length(word) BETWEEN ?3 AND ?4
     UNION ALL
     SELECT word FROM historyVocabulary
     WHERE id IN (SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH ?5)
       AND length(word) BETWEEN ?3 AND ?4`,
    first,
    LAST,
    letters.length - 1,
    letters.length + 1,
    triples(last),
  )
  return rows.map(({ word: found }) => found)
}

/** The match expression for words with these letters inside, and maybe others. */
function triples(part: string): string {
  const characters = Array.from(part)
  const all = characters.slice(2).map((last, index) => quote(`${characters[index]}${characters[index + 1]}${last}`))
  return [...new Set(all)].join(' AND ')
}

function containing(database: Database, part: string, limit: number): string[] {
  if (Array.from(part).length < SHORTEST) return []
  const rows = readAll<{ word: string }>(
    database,
    `SELECT word FROM historyVocabulary
     WHERE id IN (SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH ?) AND instr(word, ?) > 0
     ORDER BY length(word) LIMIT ?`,
    triples(part),
    part,
    limit,
  )
  return rows.map(({ word }) => word)
}
