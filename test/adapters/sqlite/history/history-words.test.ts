/* Evidence, search: Words that are stored after their documents are neither missing nor left over after a crash,
 * change or deletion. */
/* Evidence, search: After deletions in any order, beside searches and rebuilds, the index has no row of a deleted session. */
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { openDatabase, readAll, transaction, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import {
  HISTORY_PENDING_WORDS_SCHEMA,
  HISTORY_WORDS_SCHEMA,
} from '../../../../functions/adapters/sqlite/history/schema.ts'
import {
  createHistoryTables,
  type HistoryBatch,
  type HistoryTables,
} from '../../../../functions/adapters/sqlite/history/documents/tables.ts'
import { migrate, MIGRATIONS } from '../../../../functions/adapters/sqlite/migrations.ts'
import { randomNumbers } from '../../../e2e/crashes/parts/random-numbers.ts'
import { writeLog } from '../../../generators/messages.ts'
import { leftovers } from './history-faults.ts'
import { indexOn, projectionOn } from './projection.ts'
import { storeMessages } from '../log/stored-messages.ts'

interface Said {
  readonly session: string
  readonly message: string
  readonly text: string
  readonly owner?: string
}

let database: Database
let tables: HistoryTables
beforeEach(() => {
  database = openDatabase(':memory:')
  tables = createHistoryTables(database)
})

function put({ session, message, text, owner }: Said, batch?: HistoryBatch): void {
  const key = { tenant: 'acme', session }
  const ofMessage = { messageId: message, runId: 'r', agent: 'default', part: 'u', role: 'user' as const, time: 0 }
  const document = { ...key, ...ofMessage, ...definedFields({ owner }), text }
  if (batch !== undefined) return batch.replace(key, message, [document])
  tables.put((own) => own.replace(key, message, [document]))
  tables.flushPendingWords()
}

const say = (said: Said): void => transaction(database, () => put(said))

const forget = (session: string, message: string): unknown =>
  transaction(database, () => tables.remove({ tenant: 'acme', session }, message))

const list = (sql: string, ...values: string[]): string[] =>
  readAll<{ word: string }>(database, sql, ...values).map(({ word }) => word)

const known = (): string[] => list('SELECT word FROM historyVocabulary ORDER BY word')
const knownTo = (owner: string): string[] =>
  list(
    `SELECT v.word FROM historyOwnerWords o JOIN historyVocabulary v ON v.id = o.word JOIN historyAudiences a ON a.id = o.owner
     WHERE a.kind = 'owner' AND a.name = ? ORDER BY v.word`,
    owner,
  )

async function find(
  text: string,
  scope: { readonly owner?: string; readonly session?: string } = {},
): Promise<string[]> {
  const index = indexOn({ database, history: { merge: async () => undefined } })
  const { hits } = await index.search({ scope: { tenant: 'acme', ...scope }, text, filters: {}, limit: 10 })
  return hits.map(({ messageId }) => messageId)
}

describe('the stored vocabulary of SQLite', () => {
  test('removes a word of an owner, or of a tenant, with the last document that contains the word', () => {
    say({ session: 's-1', message: 'm-1', text: 'a zebra and a giraffe', owner: 'ann' })
    say({ session: 's-2', message: 'm-2', text: 'a zebra', owner: 'ann' })
    say({ session: 's-3', message: 'm-3', text: 'a giraffe', owner: 'bob' })
    expect(knownTo('ann')).toEqual(['and', 'giraffe', 'zebra'])
    forget('s-1', 'm-1')
    expect([knownTo('ann'), knownTo('bob'), known()]).toEqual([['zebra'], ['giraffe'], ['giraffe', 'zebra']])
    forget('s-2', 'm-2')
    expect([knownTo('ann'), knownTo('bob'), known()]).toEqual([[], ['giraffe'], ['giraffe']])
  })

  test.each([
    ['one after the other', ['s-1 m-1', 's-1 m-2', 's-2 m-3']],
    ['at the same time', ['s-1 m-1', 's-2 m-3', 's-1 m-2']],
  ])('removes the words of two owners when their last documents are deleted %s', (_how, order) => {
    say({ session: 's-1', message: 'm-1', text: 'shared', owner: 'ann' })
    say({ session: 's-1', message: 'm-2', text: 'own', owner: 'ann' })
    say({ session: 's-2', message: 'm-3', text: 'shared', owner: 'bob' })
    for (const one of order) {
      const [session = '', message = ''] = one.split(' ')
      forget(session, message)
    }
    expect(leftovers(database)).toEqual([])
  })

  test('adds one segment to the word-part index when it removes the words of a message', () => {
    const next = randomNumbers(7)
    const text = Array.from({ length: 90 }, () => `w${next().toString(36).slice(2, 9)}`).join(' ')
    say({ session: 's-1', message: 'm-1', text })
    const pieces = (): number => readAll(database, 'SELECT DISTINCT segid FROM historyWordParts_idx').length
    expect(known().length).toBeGreaterThanOrEqual(90)
    expect(pieces()).toBe(1)
    forget('s-1', 'm-1')
    expect([known(), pieces()]).toEqual([[], 2])
  })

  test('contains a removed word again when the session uses the word again', async () => {
    say({ session: 's-1', message: 'm-1', text: 'a zebra' })
    say({ session: 's-1', message: 'm-1', text: 'a horse' })
    say({ session: 's-2', message: 'm-2', text: 'a zebra' })
    forget('s-2', 'm-2')
    expect(known()).toEqual(['horse'])
    say({ session: 's-1', message: 'm-3', text: 'another zebra' })
    expect(await find('zebar')).toEqual(['m-3'])
    expect(await find('zebar', { session: 's-1' })).toEqual(['m-3'])
  })

  test('excludes words whose transaction was rolled back', async () => {
    say({ session: 's-1', message: 'm-1', text: 'a horse', owner: 'ann' })
    const said = { session: 's-1', message: 'm-2', text: 'a zebra', owner: 'ann' }
    const undone = (): void =>
      transaction(database, () => {
        put(said)
        throw new RangeError('undone')
      })
    expect(undone).toThrow('undone')
    expect(known()).toEqual(['horse'])
    say(said)
    for (const scope of [{}, { owner: 'ann' }, { session: 's-1' }]) expect(await find('zebar', scope)).toEqual(['m-2'])
  })

  test('includes words whose first write failed and whose second write succeeded', async () => {
    say({ session: 's-1', message: 'm-1', text: 'a horse', owner: 'ann' })
    const said = { session: 's-1', message: 'm-2', text: 'a zebra', owner: 'ann' }
    database.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON historyVocabulary BEGIN SELECT RAISE(ABORT, 'full'); END`)
    expect(() => say(said)).toThrow('full')
    database.exec('DROP TRIGGER full')
    say(said)
    for (const scope of [{}, { owner: 'ann' }, { session: 's-1' }]) expect(await find('zebar', scope)).toEqual(['m-2'])
  })

  test('excludes words of a failed commit, even if another process has added as many words since then', async () => {
    const merging = projectionOn({ database, outputs: { read: async () => new Uint8Array() }, report: () => undefined })
    const { log } = writeLog().user('a zebra')
    storeMessages(database, { tenant: 'acme', session: 's-1' }, log)
    database.exec(`CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER orphan AFTER INSERT ON historyVocabulary BEGIN INSERT INTO children VALUES (1); END`)
    await expect(merging.merge()).rejects.toThrow('FOREIGN KEY')
    database.exec('DROP TRIGGER orphan')
    expect(known()).toEqual([])
    // `say` does not use the tables of `merging`, so it writes like another process.
    say({ session: 's-2', message: 'm-2', text: 'a horse' })
    await merging.merge()
    for (const scope of [{}, { session: 's-1' }]) expect(await find('zebar', scope)).toEqual([log[0]?.id])
  })

  test('adds and removes many words of a session in bounded steps', async () => {
    const words = Array.from({ length: 450 }, (_, place) => `word${(place + 1_000).toString(36)}x`)
    say({ session: 's-1', message: 'm-1', text: words.join(' '), owner: 'ann' })
    expect(knownTo('ann')).toEqual(words.toSorted())
    const key = { tenant: 'acme', session: 's-1' }
    const left: number[] = []
    for (let more = true; more;) {
      more = transaction(database, () => tables.removeSome(key, 'm-1', 10))?.more ?? false
      left.push(known().length)
    }
    expect(left).toEqual([350, 250, 150, 50, 0])
    expect(list("SELECT rowid AS word FROM historyWordParts WHERE historyWordParts MATCH 'wor'")).toEqual([])
  })

  test('lists the words of each session, owner and tenant, in whatever order they are written', () => {
    const random = randomNumbers(20_261_124)
    const pick = (count: number): number => Math.floor(random() * count)
    const wanted = {
      tenant: new Set<string>(),
      owners: new Map<string, Set<string>>(),
      sessions: new Map<string, Set<string>>(),
    }
    const add = (sets: Map<string, Set<string>>, name: string, word: string): void => {
      sets.set(name, (sets.get(name) ?? new Set()).add(word))
    }
    for (let batch = 0; batch < 40; batch++)
      transaction(database, () => {
        tables.put((puts) => {
          for (let place = 0; place < 60; place++) {
            const session = `s-${pick(80)}`
            const owner = `o-${Number(session.slice(2)) % 40}`
            const words = Array.from({ length: 3 }, () => `word${pick(400)}x`)
            for (const word of words) {
              wanted.tenant.add(word)
              add(wanted.owners, owner, word)
              add(wanted.sessions, session, word)
            }
            put({ session, message: `m-${batch}-${place}`, text: words.join(' '), owner }, puts)
          }
        })
        if (batch % 3 === 0) tables.flushPendingWords()
      })
    expect(known()).toEqual([...wanted.tenant].toSorted())
    for (const [owner, words] of wanted.owners) expect(knownTo(owner)).toEqual([...words].toSorted())
    for (const [session, words] of wanted.sessions)
      expect(
        list(
          `SELECT w.words AS word FROM historySessionWords w JOIN historyAudiences a ON a.id = w.session
           WHERE a.kind = 'session' AND a.name = ?`,
          session,
        )
          .flatMap((some) => some.split(' '))
          .toSorted(),
      ).toEqual([...words].toSorted())
  })

  test('stores each word once, even if there are more words than the cache contains', () => {
    const letters = (place: number): string =>
      (place + 100_000).toString().replaceAll(/\d/gu, (digit) => 'abcdefghij'.charAt(Number(digit)))
    const lists = ['x', 'y'].map((letter) => Array.from({ length: 51_000 }, (_, place) => letter + letters(place)))
    const [first = [], second = []] = lists
    const some = first.slice(0, 50)
    for (const [place, words] of [first, some, second, some, some].entries())
      say({ session: `s-${place}`, message: `m-${place}`, text: words.join(' '), owner: 'ann' })
    expect(known()).toEqual([...first, ...second])
    expect(knownTo('ann')).toEqual([...first, ...second])
  })

  test('loses, at the next start, the words of owners whose sessions an older program deleted', () => {
    const old = new DatabaseSync(':memory:')
    migrate(old, MIGRATIONS.slice(0, MIGRATIONS.indexOf(HISTORY_PENDING_WORDS_SCHEMA)))
    old.exec(`INSERT INTO historyTenants (id, tenant) VALUES (1, 'acme');
      INSERT INTO historyAudiences (id, tenant, kind, name, owner, documents) VALUES
        (1, 1, 'owner', 'ann', NULL, -1), (2, 1, 'owner', 'the hash of ann', NULL, 1),
        (3, 1, 'owner', 'bob', NULL, 5), (4, 1, 'session', 's-1', 3, 2);
      INSERT INTO historyVocabulary (id, tenant, word) VALUES (1, 1, 'zebra');
      INSERT INTO historyOwnerWords (owner, word) VALUES (1, 1), (2, 1), (3, 1), (3, 7)`)
    migrate(old)
    database = old
    expect(readAll(old, "SELECT name, documents FROM historyAudiences WHERE kind = 'owner'")).toEqual([
      { name: 'bob', documents: 2 },
    ])
    expect(readAll(old, 'SELECT owner, word FROM historyOwnerWords')).toEqual([{ owner: 3, word: 1 }])
  })

  test('keeps all words of the sessions, owners and tenants of an older file', async () => {
    const old = new DatabaseSync(':memory:')
    migrate(old, MIGRATIONS.slice(0, MIGRATIONS.indexOf(HISTORY_WORDS_SCHEMA)))
    const words = Array.from({ length: 250 }, (_, place) => `word${place + 100}`)
    old.exec(`INSERT INTO historyTenants (id, tenant) VALUES (1, 'acme');
      INSERT INTO historyAudiences (id, tenant, kind, name, owner) VALUES (1, 1, 'owner', 'ann', NULL), (2, 1, 'session', 's-1', 1)`)
    for (const [place, word] of words.entries()) {
      old.prepare('INSERT INTO historyVocabulary (id, tenant, word, uses) VALUES (?, 1, ?, 1)').run(place + 1, word)
      for (const audience of [1, 2])
        old.prepare('INSERT INTO historyWordUses (audience, word, uses) VALUES (?, ?, 1)').run(audience, place + 1)
    }
    migrate(old)
    database = old
    const ofSession = readAll<{ words: string }>(old, 'SELECT words FROM historySessionWords WHERE session = 2')
    expect(ofSession.flatMap((row) => row.words.split(' ')).toSorted()).toEqual(words)
    expect([knownTo('ann'), known()]).toEqual([words, words])
  })
})
