import { Client } from '@opensearch-project/opensearch'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createOpenSearchHistoryIndex } from '../../../functions/adapters/opensearch/history-index.ts'
import { createOpenSearchHistoryWriter } from '../../../functions/adapters/opensearch/history-writer.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import type { HistoryChange, HistoryWriter, DeadLetter } from '../../../functions/ports/history-writer.ts'

/** A new alias on a real engine, with its dead letters. */
export interface OpenSearchHarness {
  readonly client: Client
  readonly alias: string
  readonly index: HistoryIndex
  readonly writer: HistoryWriter
  readonly deadLettered: DeadLetter[]
  /** Makes earlier writes searchable at once. The engine itself does so within a second. */
  refresh(): Promise<void>
  close(): Promise<void>
}

export function openSearchHarness(
  endpoint: string,
  client = new Client({ node: endpoint, maxRetries: 0 }),
): OpenSearchHarness {
  const alias = `test-${crypto.randomUUID().slice(0, 8)}`
  const clock = createSystemClock()
  const deadLettered: DeadLetter[] = []
  const indexDeadLetters = { send: async (message: DeadLetter) => void deadLettered.push(message) }
  return {
    client,
    alias,
    deadLettered,
    index: createOpenSearchHistoryIndex({ client, alias }),
    writer: createOpenSearchHistoryWriter({ client, alias, clock, indexDeadLetters }),
    refresh: async () => {
      await client.indices.refresh({ index: `${alias}*` })
    },
    close: async () => {
      await client.indices.delete({ index: `${alias}*`, expand_wildcards: 'all' })
      await client.close()
    },
  }
}

/** Groups documents into one change per message, at this revision. */
export const changesOf = (documents: readonly HistoryDocument[], revision = 1): HistoryChange[] =>
  Array.from(
    Map.groupBy(documents, ({ tenant, session, messageId }) => JSON.stringify([tenant, session, messageId])).values(),
    (parts) => {
      const { tenant, session, messageId } = parts[0] as HistoryDocument
      return { key: { tenant, session }, messageId, revision, documents: parts, removed: [] }
    },
  )
