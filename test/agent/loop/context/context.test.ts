import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import { expect, test } from 'vitest'
import { loadContext } from '../../../../functions/agent/loop/context/context.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { createPage, messageLength } from '../../../../functions/log/message-length.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'
import { writeLog } from '../../../generators/messages.ts'

const LARGE = 'a text of some length '.repeat(100_000)

test('loading a context reads at most two extra messages, of any size', async () => {
  const writer = writeLog()
  for (let run = 0; run < 30; run++) writer.run(`run-${run}`).user(LARGE).assistant('done')
  let read = 0
  const reader = {
    context: () => Promise.resolve({}),
    messages: (_: unknown, { before, limit, mostCharacters }: Parameters<LogReader['messages']>[1]) => {
      const page = createPage<Message>(messageLength, limit, mostCharacters)
      const older = writer.log.filter(({ id }) => before === undefined || id < before).toReversed()
      const more = !older.every((message) => page.take(message))
      read += page.entries.reduce((sum, message) => sum + messageLength(message), 0)
      return Promise.resolve({ messages: page.entries, more })
    },
  } as unknown as LogReader
  const { messages } = await loadContext(reader, { tenant: 't', session: 's' }, 'run-29', {
    model: 'script/ed',
    modelOptions: {},
    policies: { ...DEFAULT_POLICIES, contextTokens: 200_000 },
  })
  expect(messages.at(-1)?.id).toBe(writer.log.at(-1)?.id)
  expect(read / LARGE.length).toBeLessThan(4)
})

test('loading a context reads pages until it has every message of the request', async () => {
  const writer = writeLog()
  for (let run = 0; run < 800; run++) writer.run(`run-${run}`).user('and?').assistant('so')
  const reader = {
    context: () => Promise.resolve({}),
    messages: (_: unknown, { before, limit }: Parameters<LogReader['messages']>[1]) => {
      const older = writer.log.filter(({ id }) => before === undefined || id < before)
      return Promise.resolve({ messages: older.slice(-limit).toReversed(), more: older.length > limit })
    },
  } as unknown as LogReader
  const agent = { model: 'script/ed', modelOptions: {}, policies: DEFAULT_POLICIES }
  const { messages, isWhole } = await loadContext(reader, { tenant: 't', session: 's' }, 'run-799', agent)
  expect([messages.map(({ id }) => id), isWhole]).toEqual([writer.log.map(({ id }) => id), true])
})
