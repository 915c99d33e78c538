import { yieldToEventLoop } from '../../../../domain/time/yield-to-event-loop.ts'
import { readAll, transaction, write, type Database } from '../../database.ts'
import { findAudience, reserveWords } from './audiences.ts'
import { hasWord, removeWord, type KnownWord } from './vocabulary-writer.ts'

/** Number of words that are looked up in one transaction, which takes about 10 ms. */
const WORDS_AT_ONCE = 256
/** Number of rows of owners' words that are looked up in one transaction. */
const ROWS_AT_ONCE = 1_000

/**
 * Removes tenants' words that no document has, and then owners' words that refer to no word, in batches. Deletions
 * leave no such words, but files of older versions may have them.
 */
export async function removeUnusedWords(database: Database): Promise<void> {
  await inPages(database, -1, (after) => removeSomeWords(database, after))
  await inPages(database, { owner: -1, word: -1 }, (after) => removeSomeOfOwners(database, after))
}

/**
 * Runs `work` for each page in a separate transaction. `work` returns where the next page begins, or undefined at the
 * end.
 */
async function inPages<Place>(
  database: Database,
  first: Place,
  work: (after: Place) => Place | undefined,
): Promise<void> {
  for (let next: Place | undefined = first; next !== undefined; await yieldToEventLoop()) {
    const after: Place = next
    next = transaction(database, () => work(after))
  }
}

/**
 * Looks up the words after the word with this id, and removes the unused ones. Returns the id of the last word that was
 * looked up, or undefined at the end. Call it inside a transaction.
 */
function removeSomeWords(database: Database, after: number): number | undefined {
  const sql = `SELECT v.id, v.word, v.tenant, t.tenant AS name FROM historyVocabulary v JOIN historyTenants t ON t.id = v.tenant
    WHERE v.id > ? ORDER BY v.id LIMIT ?`
  const words = readAll<KnownWord & { readonly tenant: number; readonly name: string }>(
    database,
    sql,
    after,
    WORDS_AT_ONCE,
  )
  const audiences = new Map(words.map(({ name }) => [name, findAudience(database, { tenant: name })]))
  const unused = words.filter(({ name, word }) => {
    const audience = audiences.get(name)
    return audience === undefined || !hasWord(database, audience, word)
  })
  for (const one of unused) removeWord(database, one)
  // Other processes remember the tenant's words by marks (`known-words.ts`). Reserving an id makes these marks invalid.
  for (const tenant of new Set(unused.map((one) => one.tenant))) reserveWords(database, tenant, 1)
  return words.at(-1)?.id
}

interface OwnerWord {
  readonly owner: number
  readonly word: number
}

/** Like `removeSomeWords`, for words of owners. */
function removeSomeOfOwners(database: Database, { owner, word }: OwnerWord): OwnerWord | undefined {
  const sql = `SELECT o.owner, o.word, v.id AS known FROM historyOwnerWords o LEFT JOIN historyVocabulary v ON v.id = o.word
    WHERE (o.owner, o.word) > (?, ?) ORDER BY o.owner, o.word LIMIT ?`
  const rows = readAll<OwnerWord & { readonly known: number | null }>(database, sql, owner, word, ROWS_AT_ONCE)
  for (const row of rows)
    if (row.known === null)
      write(database, 'DELETE FROM historyOwnerWords WHERE owner = ? AND word = ?', row.owner, row.word)
  return rows.at(-1)
}
