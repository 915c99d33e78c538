import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  openDatabase,
  readAll,
  readOne,
  transaction,
  write,
  type Database,
} from '../../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../../../functions/adapters/sqlite/history/documents/projection.ts'
import { TooltrailError } from '../../../../functions/domain/errors.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { OutputStore } from '../../../../functions/ports/output-store.ts'
import { callTo, writeLog } from '../../../generators/messages.ts'
import { indexOn, projectionOn } from './projection.ts'
import { dropMessages, storeMessages } from '../log/stored-messages.ts'

const key = { tenant: 'acme', session: 's-1' }
const FOREIGN = { tenant: 'rival', session: 's-9' }
const OFFLOADED = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'the object' }
const SECRET = `ghp_${'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d'}`

let database: Database
let projection: HistoryProjection
let outputs: Pick<OutputStore, 'read'>
let reported: unknown[]
/** Called while documents are built. */
let meanwhile: () => void
beforeEach(() => {
  database = openDatabase(':memory:')
  outputs = { read: async (_, name) => new TextEncoder().encode(`the whole of ${name}, with a needle`) }
  reported = []
  meanwhile = () => undefined
  projection = projectionOn({
    database,
    outputs: {
      read(...of) {
        meanwhile()
        return outputs.read(...of)
      },
    },
    report: (error) => void reported.push(error),
  })
})
afterEach(() => expect(reported).toEqual([]))

const store = (messages: readonly Message[]): void => storeMessages(database, key, messages)

const find = async (text: string): Promise<string[]> => {
  const { hits } = await indexOn({ database, history: projection }).search({
    scope: { tenant: 'acme' },
    text,
    filters: {},
    limit: 100,
  })
  return hits.map(({ messageId }) => messageId)
}

/** Returns the content of the index, without row numbers. */
async function contents(): Promise<unknown> {
  await projection.merge()
  return {
    documents: readAll(database, 'SELECT part, role, time, text FROM historyDocuments ORDER BY text, part'),
    words: readAll(database, 'SELECT term, doc, cnt FROM historyWordCounts ORDER BY term'),
    vocabulary: readAll(database, 'SELECT word FROM historyVocabulary ORDER BY word'),
  }
}

describe('the SQLite history', () => {
  test('a message written twice, or late, produces the same index', async () => {
    const { log } = writeLog().user('hello there').assistant(callTo('shell', '{}')).result(0, 'On branch main')
    store(log)
    const once = await contents()
    store(log)
    store(log.slice(1))
    expect(await contents()).toEqual(once)
  })

  test('a result replaces the placeholder of its running call', async () => {
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'On branch main')
    const [, done] = log
    if (done?.role !== 'tool') throw new TypeError('no tool message')
    store([{ ...done, status: 'running', parts: [] }])
    expect(await find('branch')).toEqual([])
    store([done])
    expect(await find('branch')).toEqual([done.id])
    expect(readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n).toBe(2)
  })

  test('removing messages removes all their documents and words, and counts the documents', async () => {
    const { log } = writeLog()
      .user('a zebra')
      .assistant('a giraffe', callTo('shell', '{}'))
      .result(0, 'a zebra crossing')
    store(log)
    await projection.merge()
    const gone = log.slice(1).map(({ id }) => id)
    expect(transaction(database, () => projection.remove(key, gone))).toBe(3)
    dropMessages(database, key, gone)
    expect(await find('giraffe')).toEqual([])
    expect(await find('zebra')).toEqual([log[0]?.id])
    expect(transaction(database, () => projection.remove(key, gone))).toBe(0)
    transaction(database, () => projection.remove(key, [log[0]?.id ?? '']))
    expect(await contents()).toEqual({ documents: [], words: [], vocabulary: [] })
    expect(await find('zebra')).toEqual([])
  })

  test('messages with equal ids in two sessions or tenants are different messages', async () => {
    const { log } = writeLog().user('a zebra')
    store(log)
    await projection.merge()
    transaction(database, () => projection.remove({ tenant: 'acme', session: 'other' }, [log[0]?.id ?? '']))
    transaction(database, () => projection.remove({ tenant: 'rival', session: 's-1' }, [log[0]?.id ?? '']))
    expect(await find('zebra')).toHaveLength(1)
  })

  test('an offloaded result is found by any word of its full text', async () => {
    const output = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'the object' }
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'preview', { output })
    store(log)
    expect(await find('needle')).toEqual([log[1]?.id])
  })

  test('a result whose output is missing is found by its preview, and the missing output is reported', async () => {
    outputs = { read: () => Promise.reject(new TooltrailError('output_not_found', 'no such output')) }
    const output = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'the object' }
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'preview', { output })
    store(log)
    expect(await find('preview')).toEqual([log[1]?.id])
    expect(reported.splice(0)).toEqual([expect.objectContaining({ message: expect.stringContaining('is gone') })])
  })

  test('an unreadable message does not hide other messages, is reported, and is found once it is readable', async () => {
    const { read } = outputs
    outputs = { read: () => Promise.reject(new Error('EIO')) }
    const output = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'the object' }
    const { log } = writeLog()
      .assistant('a giraffe', callTo('shell', '{}'))
      .result(0, 'preview', { output })
      .user('a lion')
    store(log)
    expect(await find('giraffe')).toEqual([log[0]?.id])
    expect(await find('lion')).toEqual([log[2]?.id])
    expect(await find('needle')).toEqual([])
    expect(reported.splice(0).map((error) => error instanceof Error && error.cause)).toEqual(
      Array.from({ length: 3 }, () => new Error('EIO')),
    )
    outputs = { read }
    expect(await find('needle')).toEqual([log[1]?.id])
  })

  test('a message that is rewritten while its documents are built is indexed with its new content', async () => {
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'a zebra')
    const [, done] = log
    if (done?.role !== 'tool') throw new TypeError('no tool message')
    store([{ ...done, parts: [], output: OFFLOADED }])
    meanwhile = () => {
      meanwhile = () => undefined
      store([done])
    }
    expect(await find('zebra')).toEqual([done.id])
    expect(readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n).toBe(2)
    expect(readAll(database, 'SELECT * FROM historyMarks')).toEqual([])
  })

  test('a message that is deleted while its documents are built leaves no documents', async () => {
    const { log } = writeLog().user('a zebra').assistant(callTo('shell', '{}')).result(0, '', { output: OFFLOADED })
    store(log)
    meanwhile = () =>
      dropMessages(
        database,
        key,
        log.map(({ id }) => id),
      )
    expect(await find('zebra')).toEqual([])
    expect(await contents()).toEqual({ documents: [], words: [], vocabulary: [] })
  })

  test('messages that two processes index at once are indexed once', async () => {
    const { log } = Array.from({ length: 100 }, (_, number) => `zebra ${number}`).reduce(
      (writer, text) => writer.user(text),
      writeLog(),
    )
    store(log)
    const other = projectionOn({ database, outputs, report: () => undefined })
    await Promise.all([projection.merge(), other.merge(), projection.merge()])
    expect(readOne<{ n: number }>(database, 'SELECT count(*) AS n FROM historyDocuments')?.n).toBe(100)
    expect(
      readOne<{ n: number }>(database, "SELECT count(*) AS n FROM historyWords WHERE historyWords MATCH 'zebra'")?.n,
    ).toBe(100)
  })

  test('the claim of a call marks no message as pending, because a claim changes no text', async () => {
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'done')
    store(log)
    await projection.merge()
    write(database, 'UPDATE messages SET generation = generation + 1')
    expect(readAll(database, 'SELECT * FROM historyMarks')).toEqual([])
  })

  test('secrets do not appear in the index', async () => {
    const { log } = writeLog()
      .user(`the token ${SECRET}`)
      .assistant(callTo('shell', '{}'))
      .result(0, `Bearer ${SECRET}`, { call: `shell(token="${SECRET}")` })
    store(log)
    expect(await find(SECRET)).toEqual([])
    expect(JSON.stringify(await contents()).toLowerCase()).not.toContain(SECRET.slice(4).toLowerCase())
    expect(JSON.stringify(readAll(database, 'SELECT * FROM historyMessages'))).not.toContain(SECRET)
  })

  test('texts of any kind are stored unchanged', async () => {
    const texts = [
      'a\u0000b zebra',
      'lone \ud800 zebra',
      '中文 zebra 🎉',
      'zebra '.repeat(60_000),
      `zebra ${'x'.repeat(400_000)}`,
    ]
    const { log } = texts.reduce((writer, text) => writer.user(text), writeLog())
    store(log)
    expect(new Set(await find('zebra'))).toEqual(new Set(log.map(({ id }) => id)))
  })

  test('a query is corrected to a word of its owner, although the misspelling is common in another tenant', async () => {
    const { log } = writeLog().user('the amount')
    store(log)
    const other = writeLog()
    for (let time = 0; time < 20; time++) other.user(`the amouet ${time}`)
    const foreign = other.log.map((message) => ({ ...message, id: `1${message.id.slice(1)}` }))
    storeMessages(database, FOREIGN, foreign)
    expect(await find('amouet')).toEqual([log[0]?.id])
  })

  test('words are removed with the last document of the last session that contains them', async () => {
    const other = { tenant: 'acme', session: 'other' }
    store(writeLog().user('a zebra and a giraffe').log)
    const { log } = writeLog().user('a zebra')
    const [message] = log
    if (message === undefined) throw new RangeError('no message')
    storeMessages(database, other, [{ ...message, id: `1${message.id.slice(1)}` }])
    await projection.merge()
    const words = (): unknown[] => readAll<{ word: string }>(database, 'SELECT word FROM historyVocabulary ORDER BY 1')
    expect(words()).toEqual([{ word: 'and' }, { word: 'giraffe' }, { word: 'zebra' }])
    transaction(database, () => projection.remove(key, [message.id]))
    expect(words()).toEqual([{ word: 'zebra' }])
    transaction(database, () => projection.remove(other, [`1${message.id.slice(1)}`]))
    for (const table of [
      'historyVocabulary',
      'historySessionWords',
      'historyOwnerWords',
      'historyAudiences',
      'historyDocuments',
    ])
      expect(readAll(database, `SELECT * FROM ${table}`), table).toEqual([])
    expect(readAll(database, "SELECT rowid FROM historyWordParts WHERE historyWordParts MATCH 'zeb'")).toEqual([])
  })

  test('a deleted session is no longer indexed', async () => {
    store(writeLog().user('a zebra').log)
    write(database, 'UPDATE sessions SET live = 0')
    await projection.merge()
    expect(readAll(database, 'SELECT * FROM historyDocuments')).toEqual([])
  })

  test('unknown words in a query do not prevent matches of the known words', async () => {
    const { log } = writeLog().user('the zebra crossing')
    store(log)
    expect(await find('qqxx zebra yyzz wwvv')).toEqual([log[0]?.id])
    expect(await find('zebra qqxx')).toEqual([log[0]?.id])
  })

  test('symbols are found in texts that contain them, newest first', async () => {
    const { log } = writeLog().user('a => b').user('a = b > c').user('x => {}').user('🎉 party')
    store(log)
    expect(await find('=>')).toEqual([log[2]?.id, log[0]?.id])
    expect(await find('{ =>')).toEqual([log[2]?.id])
    expect(await find('🎉')).toEqual([log[3]?.id])
    expect(await find('§§')).toEqual([])
  })

  test('pages of a symbol query with many matches have no hit in common', async () => {
    const { log } = Array.from({ length: 30 }, (_, index) => `${index} => x`).reduce(
      (writer, text) => writer.user(text),
      writeLog(),
    )
    store(log)
    const index = indexOn({ database, history: projection })
    const query = { scope: { tenant: 'acme' }, text: '=>', filters: {}, limit: 12 }
    const found: string[] = []
    for (let after: string | undefined = ''; after !== undefined && found.length < 100;) {
      const page = await index.search(after === '' ? query : { ...query, after })
      found.push(...page.hits.map(({ messageId }) => messageId))
      after = page.next
    }
    expect(found).toEqual(log.map(({ id }) => id).toReversed())
  })
})
