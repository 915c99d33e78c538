import { fc } from '../../generators/seeded.ts'
import { expect, test } from 'vitest'
import { createLeader, remember } from '../../../functions/agent/loop/thread.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'

const AGENT = { name: 'default', model: 'script/ed', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
const IDS = nextIds(undefined, 1, 20)
const messages = fc.uniqueArray(fc.constantFrom(...IDS)).map((ids) => ids.map(messageOf))
const messageOf = (id: string): Message => ({
  id,
  role: 'user',
  runId: 'r',
  agent: 'default',
  round: 0,
  createdAt: 0,
  parts: [],
})

test('the thread contains the latest version of each message, in order of ids', () => {
  fc.assert(
    fc.property(fc.array(messages, { maxLength: 5 }), (batches) => {
      const thread = createLeader('r', AGENT)
      const last = new Map<string, Message>()
      for (const [index, batch] of batches.entries()) {
        const changed = batch.map((message) => ({ ...message, createdAt: index }))
        remember(thread, changed)
        for (const message of changed) last.set(message.id, message)
      }
      expect(thread.messages).toEqual([...last.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1)))
    }),
  )
})
