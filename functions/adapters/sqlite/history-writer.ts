import type { ToolMessage } from '../../domain/message.ts'
import { projectMessage } from '../../log/history-documents.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { Database } from './database.ts'
import { addPending, mergeAll, mergeWhenIdle } from './history-pending.ts'
import type { HistoryProjection } from './history-projection.ts'
import { createHistoryTables } from './history-tables.ts'

interface Dependencies {
  readonly database: Database
  readonly outputs: Pick<OutputStore, 'read'>
  readonly redact: (text: string) => Promise<string>
}

/** Keeps the history index in step with the log, in the log's transactions. */
export function createSqliteHistoryProjection({ database, outputs, redact }: Dependencies): HistoryProjection {
  const tables = createHistoryTables(database)
  const written = mergeWhenIdle(database)
  return {
    documents: (message, session) =>
      projectMessage(message, session, {
        redact,
        readOutput: async (tool) => new TextDecoder().decode(await outputs.read(session.key, objectOf(tool))),
      }),
    write(key, messages) {
      addPending(database, key, messages)
      written()
    },
    remove(key, messageIds) {
      mergeAll(database)
      return messageIds.reduce((removed, messageId) => removed + tables.remove(key, messageId), 0)
    },
  }
}

function objectOf(message: ToolMessage): string {
  if (message.output?.object === undefined) throw new TypeError(`message ${message.id} has no offloaded output`)
  return message.output.object
}
