import { createDiskOutputStore } from '../../functions/adapters/disk/output-store.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { writeTo } from '../../functions/adapters/opensearch/history-writer.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { createIndexer } from '../../functions/history/indexer.ts'
import { mostDocuments } from '../../functions/search/documents/documents.ts'
import { redactSecrets } from '../../functions/search/redaction/redact.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import { sayMemory } from './memory-of.ts'

/**
 * A program that indexes the messages of a file. Their outputs are in a folder, and the writer's server accepts every
 * document.
 */
const [folder = '', file = ''] = process.argv.slice(2)
const { default: messages } = (await import(file, { with: { type: 'json' } })) as { default: readonly Message[] }
const key = { tenant: 'acme', session: 's-1' }
const session = { ...key, agent: 'default', metadata: {}, createdAt: 0, updatedAt: 0 }
const totals = { runs: 0, rounds: 0, usage: NO_USAGE, byAgent: {} }
const clock = createSystemClock()
const indexDeadLetters = { send: () => Promise.reject(new Error('nothing here is poison')) }
let stored = 0
const send: Parameters<typeof writeTo>[2]['send'] = async ({ lines = [] }) => {
  stored += lines.length / 2
  return { status: 200, body: { items: Array.from({ length: lines.length / 2 }, () => ({ index: { status: 201 } })) } }
}
const index = createIndexer<Message>({
  records: {
    sequence: ({ id }) => id,
    at: () => undefined,
    superseded: () => undefined,
    change: (message) => ({
      stored: {
        key,
        messageId: message.id,
        revision: 1,
        role: message.role,
        documents: mostDocuments(message),
        message: async () => message,
      },
    }),
  },
  rows: { async *between() {} },
  reader: { replacements: async () => [] },
  sessions: { read: async () => ({ ...session, totals, messages: { count: 0 } }) },
  outputs: createDiskOutputStore({ folder }),
  writer: { write: (changes) => writeTo(['history'], changes, { send, clock, indexDeadLetters }) },
  indexDeadLetters,
  clock,
  logger: { warn: () => undefined },
})
// Loads the redaction rules first, so that their memory does not count.
await redactSecrets('_authToken=abc')
await sayMemory(async () => ({ ...(await index(messages)), stored }))
