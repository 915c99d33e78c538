import type { Output, ToolMessage } from '../../domain/message.ts'
import { projectMessage } from '../../log/history-documents.ts'
import { encodingOf } from '../../log/output-encoding.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { Database } from './database.ts'
import { addPending, mergeAll, mergeWhenIdle } from './history-pending.ts'
import type { HistoryProjection } from './history-projection.ts'
import { createHistoryTables } from './history-tables.ts'

interface Dependencies {
  readonly database: Database
  readonly outputs: Pick<OutputStore, 'read'>
  readonly redact: (text: string) => Promise<string>
  /** Is told why documents could not be taken into the full-text tables while the process was idle. */
  readonly report: (error: unknown) => void
}

/** Keeps the history index in step with the log, in the log's transactions. */
export function createSqliteHistoryProjection({ database, outputs, redact, report }: Dependencies): HistoryProjection {
  const tables = createHistoryTables(database)
  const written = mergeWhenIdle(database, report)
  return {
    documents: (message, session) =>
      projectMessage(message, session, {
        redact,
        readOutput: async (tool) => {
          const { object, mediaType } = offloaded(tool)
          return new TextDecoder(encodingOf(mediaType)).decode(await outputs.read(session.key, object))
        },
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

function offloaded({ id, output }: ToolMessage): Output & { readonly object: string } {
  if (output?.object === undefined) throw new TypeError(`message ${id} has no offloaded output`)
  return { ...output, object: output.object }
}
