import { expect, test } from 'vitest'
import { createPlace, runMessages } from '../../../functions/agent/events/run-messages.ts'
import type { Message, ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { LogReader } from '../../../functions/ports/log-reader.ts'
import { createPage, messageLength } from '../../../functions/log/message-length.ts'

const key = { tenant: 't', session: 's' }

const user = (id: string, text: string): Message => ({
  id,
  runId: 'r',
  agent: 'a',
  role: 'user',
  round: 0,
  createdAt: 0,
  parts: [{ type: 'text', text }],
})

const call = (id: string, status: ToolMessage['status']): Message => ({
  ...user(id, ''),
  role: 'tool',
  assistantMessageId: 'm',
  toolCallId: 'c',
  toolName: 'echo',
  call: 'echo()',
  sequence: 0,
  status,
  parts: [],
  generation: 1,
})

/** Creates a log of these messages that counts the pages read. */
function logOf(messages: Message[]): { reader: LogReader; reads(): number } {
  let reads = 0
  const reader = {
    messages: async (_key: unknown, { after = '', limit, mostCharacters }: Parameters<LogReader['messages']>[1]) => {
      reads++
      const page = createPage(messageLength, limit, mostCharacters)
      const left = messages.filter(({ id }) => id > after)
      return { messages: page.entries, more: !left.every((message) => page.take(message)) }
    },
  } as unknown as LogReader
  return { reader, reads: () => reads }
}

async function idsOf(reader: LogReader, after?: string): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of runMessages(reader, key, 'r', after)) ids.push(id)
  return ids
}

test('successive readers share finished messages, and still see newly stored ones', async () => {
  const messages = Array.from({ length: 20 }, (_, at) => user(`m${10 + at}`, 'x'.repeat(100_000)))
  const { reader, reads } = logOf(messages)
  const ids = messages.map(({ id }) => id)
  expect(await idsOf(reader)).toEqual(ids)
  const before = reads()
  for (let time = 0; time < 10; time++) expect(await idsOf(reader)).toEqual(ids)
  expect(reads() - before).toBe(10)
  messages.push(user('m90', 'later'))
  expect((await idsOf(reader)).at(-1)).toBe('m90')
})

test('a message that was evicted from the cache is read again', async () => {
  const messages = Array.from({ length: 40 }, (_, at) => user(`m${10 + at}`, 'x'.repeat(900_000)))
  const { reader } = logOf(messages)
  const [slow, ids] = [runMessages(reader, key, 'r', undefined), [] as string[]]
  for (let one = await slow.next(); one.done !== true; one = await slow.next()) {
    ids.push(one.value.id)
    if (ids.length === 3) await idsOf(reader)
  }
  expect(ids).toEqual(messages.map(({ id }) => id))
})

test('an open call is read again each time', async () => {
  const messages = [user('m1', 'go'), call('m2', 'running'), call('m3', 'completed')]
  const { reader } = logOf(messages)
  const idsRead = async (): Promise<string[]> => {
    const ids: string[] = []
    for await (const message of runMessages(reader, key, 'r', 'm1'))
      ids.push(`${message.id} ${'status' in message && message.status}`)
    return ids
  }
  for (let time = 0; time < 2; time++) expect(await idsRead()).toEqual(['m2 running', 'm3 completed'])
  messages[1] = call('m2', 'completed')
  expect(await idsRead()).toEqual(['m2 completed', 'm3 completed'])
})

test('a cursor advances to a message once every event up to this message has been emitted', () => {
  const place = createPlace(undefined, 0)
  const position = { generation: 1, number: 3 }
  place.begin()
  place.pass(user('m1', 'go'), { isSettled: true, shown: 1, position })
  place.pass(call('m2', 'waiting'), { isSettled: false, shown: 2, position: undefined })
  expect([place.after, place.notices, place.waiting.map(({ id }) => id)]).toEqual(['m1', 1, ['m2']])
  expect(place.position).toEqual(position)
  place.begin()
  place.pass(call('m2', 'completed'), { isSettled: true, shown: 2, position: undefined })
  expect([place.after, place.notices, place.waiting]).toEqual(['m2', 2, []])
})
