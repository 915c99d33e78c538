import type { Vocabulary } from '../../../../search/query/plan.ts'
import { typosOf, withinOneTypo } from '../../../../search/query/word-forms.ts'
import { readAll, readOne, type Database } from '../../database.ts'
import type { Audience } from './audiences.ts'
import { quote } from '../search/scope.ts'
import { sessionWords } from './session-words.ts'

/** Minimum length of a word in the vocabulary, in characters. */
const MIN_WORD_CHARACTERS = 3
/** Minimum length, in characters, of a word whose similar words are found by its first or last half. */
const MIN_HALVED_CHARACTERS = 6
/** Maximum number of documents that are counted for a token. A token in more documents is common in every history. */
const COUNTED = 20_000
/**
 * Frequency above which counting is expensive. Such a frequency is cached until the tenant's documents change. The
 * cache has at most `REMEMBERED` frequencies.
 */
const COUNTED_EACH_TIME = 500
const REMEMBERED = 20_000
/** Sorts after every word with a given prefix. */
const LAST = '\u{10FFFF}'

/** Creates the reader of an audience's words, for the query planner. */
export function createVocabulary(database: Database): { of(audience: Audience): Vocabulary } {
  const counted = new Map<string, { readonly version: string; readonly frequency: number }>()
  return {
    of(audience) {
      const { documents, version, session, owner, tenant } = audience
      const words = session === undefined ? wordsOfMany(database, audience) : wordsOfSession(database, session)
      return {
        documents,
        ...words,
        frequency(token) {
          const name = `${session ?? owner ?? ''} ${tenant} ${token}`
          const known = counted.get(name)
          if (known?.version === version) return known.frequency
          const frequency = frequencyOf(database, audience, token)
          if (frequency > COUNTED_EACH_TIME) remember(counted, name, { version, frequency })
          return frequency
        },
      }
    },
  }
}

type Words = Omit<Vocabulary, 'documents' | 'frequency'>

/** Returns the words of an owner or a tenant. */
const wordsOfMany = (database: Database, audience: Audience): Words => ({
  startingWith: (prefix, limit) => startingWith(database, audience, prefix, limit),
  beginningWith: (prefix, limit) => startingWith(database, audience, prefix, limit),
  resembling: (word) => resembling(database, audience, word),
  containing: (part, limit) => containing(database, audience, part, limit),
})

/** Returns the words of a session, which are read on first use. */
function wordsOfSession(database: Database, session: number): Words {
  let read: string[] | undefined
  const those = (isWanted: (word: string) => boolean): string[] =>
    (read ??= sessionWords(database, session).toSorted()).filter(isWanted)
  const shortest = (words: string[], limit: number): string[] =>
    words.toSorted((left, right) => left.length - right.length).slice(0, limit)
  const startingWith: Words['startingWith'] = (prefix, limit) =>
    shortest(
      those((word) => word.startsWith(prefix)),
      limit,
    )
  return {
    startingWith,
    beginningWith: startingWith,
    resembling: (word) => those((other) => withinOneTypo(word, other)),
    containing: (part, limit) =>
      Array.from(part).length < MIN_WORD_CHARACTERS
        ? []
        : shortest(
            those((word) => word.includes(part)),
            limit,
          ),
  }
}

function remember<Value>(cache: Map<string, Value>, key: string, value: Value): void {
  if (cache.size >= REMEMBERED) cache.clear()
  cache.set(key, value)
}

/** Returns the number of the audience's documents with the token, at most `COUNTED`. */
function frequencyOf(database: Database, { range, tokens }: Audience, token: string): number {
  const sql = `SELECT count(*) AS n FROM (
    SELECT 1 FROM historyWords WHERE historyWords MATCH ? AND rowid BETWEEN ? AND ? LIMIT ${COUNTED})`
  return readOne<{ n: number }>(database, sql, [quote(token), ...tokens].join(' AND '), range.first, range.last)?.n ?? 0
}

/**
 * Returns the condition that restricts a query of `historyVocabulary v` to an owner. The query already selects the
 * tenant's words.
 */
const mine = ({ owner }: Audience): string =>
  owner === undefined ? '' : `AND EXISTS (SELECT 1 FROM historyOwnerWords o WHERE o.owner = ${owner} AND o.word = v.id)`

function startingWith(database: Database, audience: Audience, prefix: string, limit: number): string[] {
  return words(
    database,
    `SELECT v.word FROM historyVocabulary v WHERE v.tenant = ? AND v.word >= ? AND v.word < ? ${mine(audience)}
     ORDER BY length(v.word), v.word LIMIT ?`,
    audience.tenant,
    prefix,
    prefix + LAST,
    limit,
  )
}

function existing(database: Database, audience: Audience, wanted: readonly string[]): string[] {
  return words(
    database,
    `SELECT v.word FROM historyVocabulary v
     WHERE v.tenant = ? AND v.word IN (SELECT value FROM json_each(?)) ${mine(audience)} ORDER BY v.word`,
    audience.tenant,
    JSON.stringify(wanted),
  )
}

function resembling(database: Database, audience: Audience, word: string): string[] {
  const letters = Array.from(word)
  if (letters.length < MIN_HALVED_CHARACTERS) return existing(database, audience, typosOf(word))
  const half = Math.floor(letters.length / 2)
  const first = letters.slice(0, half).join('')
  const last = letters.slice(half).join('')
  return words(
    database,
    `SELECT v.word FROM historyVocabulary v
     WHERE v.tenant = ?1 AND v.word >= ?2 AND v.word < ?2 || ?3 AND length(v.word) BETWEEN ?4 AND ?5 ${mine(audience)}
     UNION
     SELECT v.word FROM historyVocabulary v
     WHERE v.id IN (SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH ?6 AND rowid BETWEEN ?7 AND ?8)
       AND length(v.word) BETWEEN ?4 AND ?5 ${mine(audience)}
     ORDER BY 1`,
    audience.tenant,
    first,
    LAST,
    letters.length - 1,
    letters.length + 1,
    triples(last),
    audience.wordRange.first,
    audience.wordRange.last,
  )
}

/** Returns the match expression for words that contain these letters. It may also match other words. */
function triples(part: string): string {
  const characters = Array.from(part)
  const all = characters.slice(2).map((last, index) => quote(`${characters[index]}${characters[index + 1]}${last}`))
  return [...new Set(all)].join(' AND ')
}

function containing(database: Database, audience: Audience, part: string, limit: number): string[] {
  if (Array.from(part).length < MIN_WORD_CHARACTERS) return []
  return words(
    database,
    `SELECT v.word FROM historyVocabulary v
     WHERE v.id IN (SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH ? AND rowid BETWEEN ? AND ?)
       AND instr(v.word, ?) > 0 ${mine(audience)}
     ORDER BY length(v.word), v.word LIMIT ?`,
    triples(part),
    audience.wordRange.first,
    audience.wordRange.last,
    part,
    limit,
  )
}

function words(database: Database, sql: string, ...values: (string | number)[]): string[] {
  return readAll<{ word: string }>(database, sql, ...values).map(({ word }) => word)
}
