/* Evidence, limits: Large reads of a log yield to other work. A search reads only the messages next to each hit. */
/* Evidence, durability: A search that began before the deletion of a session completed shows nothing of that session. */
import { describe, expect, it } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { createHistorySearch } from '../../functions/history/search.ts'
import type { HistoryHit, HistoryRole } from '../../functions/domain/history.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import type { LogReader } from '../../functions/ports/log-reader.ts'
import type { SessionStore } from '../../functions/ports/session-store.ts'
import { createPage, messageLength } from '../../functions/log/message-length.ts'
import { callTo, writeLog } from '../generators/messages.ts'

const query = { scope: { tenant: 'acme' }, text: 'x', filters: {}, limit: 5 }

type Sessions = Pick<SessionStore, 'findIds' | 'readLabels'>
const ALL_LIVE: Sessions = {
  findIds: () => Promise.reject(new Error('this search names no metadata')),
  readLabels: async (_tenant, sessions) => new Map(sessions.map((session) => [session, { metadata: {} }])),
}

/** An index whose searches find these messages. */
function indexOf(hits: readonly { id: string; role: HistoryRole; snippet?: string }[], next?: string): HistoryIndex {
  return {
    search: ({ filters }) =>
      Promise.resolve({
        hits: (filters.superseded === true ? [] : hits).map(({ id, role, snippet = 'the snippet' }): HistoryHit => ({
          session: 's-1',
          runId: 'run-1',
          messageId: id,
          matched: [],
          role,
          agent: 'default',
          time: 0,
          score: 1,
          snippet,
        })),
        ...definedFields({ next }),
      }),
    locate: () => Promise.resolve(undefined),
    hasSuperseded: () => Promise.resolve(false),
  }
}

/** A reader of one log. `reads` counts the messages that it has returned. */
function readerOf(log: readonly Message[]): LogReader & { reads: number } {
  const notAsked = (): Promise<never> => Promise.reject(new Error('a search reads messages only'))
  const reader = {
    reads: 0,
    message: (_key: unknown, id: string) => Promise.resolve(log.find((message) => message.id === id)),
    messages: (_key: unknown, query: Parameters<LogReader['messages']>[1]) => {
      const { after = '', before = '~', order, limit, mostCharacters } = query
      const all = log.filter(({ id }) => id > after && id < before)
      const ordered = order === 'ascending' ? all : all.toReversed()
      const page = createPage(messageLength, limit, mostCharacters)
      const end = ordered.findIndex((message) => !page.take(message))
      const messages = ordered.slice(0, end < 0 ? ordered.length : end)
      reader.reads += messages.length
      return Promise.resolve({ messages, more: messages.length < all.length })
    },
    run: notAsked,
    runs: notAsked,
    queued: notAsked,
    steering: notAsked,
    context: notAsked,
    replacements: async () => [],
    sources: notAsked,
  }
  return reader
}

async function neighboursOf(log: readonly Message[], place: number, role: HistoryRole): Promise<unknown[]> {
  const index = indexOf([{ id: log[place]?.id ?? '', role }])
  const [entry] = (await createHistorySearch({ index, reader: readerOf(log), sessions: ALL_LIVE }).search(query))
    .entries
  return [entry?.before, entry?.text, entry?.after]
}

describe('a search hit', () => {
  const { log } = writeLog()
    .user('status?')
    .assistant('I look.', callTo('a', '{}'), callTo('b', '{}'))
    .result(0, 'one')
    .result(1, 'two')
    .assistant('done')

  it.each<readonly [string, number, HistoryRole, unknown[]]>([
    ['a text at the beginning', 0, 'user', [undefined, 'status?', { label: 'ASSISTANT', text: 'I look.' }]],
    [
      'a text before calls',
      1,
      'assistant',
      [{ label: 'USER', text: 'status?' }, 'I look.', { label: 'TOOL CALL', text: 'a()' }],
    ],
    ['a call', 2, 'tool_call', [{ label: 'ASSISTANT', text: 'I look.' }, 'a()', { label: 'TOOL RESULT', text: 'one' }]],
    ['a result', 2, 'tool_result', [{ label: 'TOOL CALL', text: 'a()' }, 'one', { label: 'TOOL CALL', text: 'b()' }]],
    [
      'the second call of a batch',
      3,
      'tool_call',
      [{ label: 'TOOL RESULT', text: 'one' }, 'b()', { label: 'TOOL RESULT', text: 'two' }],
    ],
    ['a text at the end', 4, 'assistant', [{ label: 'TOOL RESULT', text: 'two' }, 'done', undefined]],
  ])('has the entries before and after it: %s', async (_, place, role, expected) => {
    expect(await neighboursOf(log, place, role)).toEqual(expected)
  })

  it('skips any number of empty neighbours', async () => {
    const writer = writeLog().user('far away')
    for (let round = 0; round < 150; round++) writer.assistant('')
    const { log: long } = writer.user('here')
    expect(await neighboursOf(long, 151, 'user')).toEqual([{ label: 'USER', text: 'far away' }, 'here', undefined])
  })

  it('reads only a few messages, whatever the length of the log', async () => {
    const writer = writeLog()
    for (let round = 0; round < 500; round++) writer.user(`entry ${round}`)
    const reader = readerOf(writer.log)
    const index = indexOf([{ id: writer.log[250]?.id ?? '', role: 'user' }])
    await createHistorySearch({ index, reader, sessions: ALL_LIVE }).search(query)
    expect(reader.reads).toBeLessThanOrEqual(8)
  })

  it('truncates long neighbours to 300 characters', async () => {
    const { log: long } = writeLog().user('x'.repeat(400)).assistant('short')
    expect(await neighboursOf(long, 1, 'assistant')).toEqual([
      { label: 'USER', text: `${'x'.repeat(300)}...` },
      'short',
      undefined,
    ])
  })

  it('shows the snippet of a long text, without the marks around matches', async () => {
    const { log: long } = writeLog().user('x'.repeat(400))
    const index = indexOf([{ id: long[0]?.id ?? '', role: 'user', snippet: '…a «needle» here…' }])
    const { entries } = await createHistorySearch({ index, reader: readerOf(long), sessions: ALL_LIVE }).search(query)
    expect(entries[0]?.text).toBe('…a needle here…')
  })

  it('shows no secret of the log in its text or its neighbours', async () => {
    const secret = `ghp_${'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d'}`
    const { log: leaky } = writeLog().user(`the token is ${secret}`).assistant(`I keep ${secret}`)
    expect(await neighboursOf(leaky, 1, 'assistant')).toEqual([
      { label: 'USER', text: 'the token is [redacted]' },
      'I keep [redacted]',
      undefined,
    ])
  })

  it('is omitted if its message is missing, and the page keeps its cursor', async () => {
    const index = indexOf([{ id: '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', role: 'user' }], 'next-page')
    const page = await createHistorySearch({ index, reader: readerOf(log), sessions: ALL_LIVE }).search(query)
    expect(page).toMatchObject({ entries: [], next: 'next-page' })
  })
})

it('a search reads a long neighbour of a hit and nothing beyond it', async () => {
  const { log, user } = writeLog()
  for (let place = 0; place < 9; place++) user(place === 4 ? 'the hit' : `${place} ${'x'.repeat(100_000)}`)
  const reader = readerOf(log)
  const index = indexOf([{ id: log[4]?.id ?? '', role: 'user' }])
  const [entry] = (await createHistorySearch({ index, reader, sessions: ALL_LIVE }).search(query)).entries
  expect([entry?.before?.text.slice(0, 3), entry?.after?.text.slice(0, 3)]).toEqual(['3 x', '5 x'])
  expect(reader.reads).toBe(2)
})

it('hits of a session deleted during the search are omitted, and one read checks all sessions', async () => {
  const { log } = writeLog().user('one').user('two').user('three')
  const place = (id: string): number => log.findIndex((message) => message.id === id)
  const { search, ...index } = indexOf(log.map(({ id }) => ({ id, role: 'user' })))
  const spread: HistoryIndex['search'] = async (asked) => {
    const page = await search(asked)
    return { ...page, hits: page.hits.map((hit) => ({ ...hit, session: place(hit.messageId) === 1 ? 'gone' : 's-1' })) }
  }
  let left = log.length
  const reader = readerOf(log)
  const looks: (readonly string[])[] = []
  const { entries } = await createHistorySearch({
    index: { ...index, search: spread },
    reader: {
      ...reader,
      message: async (key, id) => {
        left--
        return reader.message(key, id)
      },
    },
    sessions: {
      ...ALL_LIVE,
      readLabels: async (_tenant, sessions) => {
        expect(left).toBe(0)
        looks.push(sessions)
        return new Map([['s-1', { metadata: {} }]])
      },
    },
  }).search(query)
  expect(entries.map(({ text }) => text)).toEqual(['one', 'three'])
  expect(looks).toEqual([['s-1', 'gone']])
})
