import { createDynamoRowRecords, expiryRemoved } from '../../adapters/dynamodb/stream/row-records.ts'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { expireSession } from '../../agent/worker/serve-hint.ts'
import { createIndexer } from '../../history/indexer.ts'
import type { BatchResult } from '../../history/indexer.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryWriter, DeadLetterSink } from '../../ports/history-writer.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { Logger } from '../../ports/logger.ts'
import type { MessageRows } from '../../ports/message-rows.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionStore } from '../../ports/session-store.ts'

interface Dependencies {
  readonly sessions: SessionStore
  readonly reader: Pick<LogReader, 'replacements'>
  readonly rows: Pick<MessageRows, 'between'>
  readonly deletion: SessionDeletion
  readonly outputs: OutputStore
  readonly writer: HistoryWriter
  readonly indexDeadLetters: DeadLetterSink
  readonly queue: Pick<RunQueue, 'send'>
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
}

/**
 * Handles records of the table's stream: updates the history index, and deletes sessions whose expiry row was removed.
 * Returns the earliest record that failed, so that the stream is sent again from that record. Once `signal` is aborted,
 * returns the first unprocessed record.
 */
export function createStreamHandler(
  dependencies: Dependencies,
): (records: readonly StreamRecord[], signal?: AbortSignal) => Promise<BatchResult> {
  const { outputs, logger } = dependencies
  const index = createIndexer({
    ...dependencies,
    records: createDynamoRowRecords({ outputs }),
  })
  return async (records, signal) => {
    const failed = new Set((await index(records, signal)).failed)
    for (const record of records) {
      const key = expiryRemoved(record)
      if (key === undefined) continue
      try {
        await expireSession(dependencies, key)
      } catch (error) {
        logger.error('expiring a session failed', error, { tenant: key.tenant, session: key.session })
        failed.add(sequenceOf(record))
      }
    }
    const first = records.find((record) => failed.has(sequenceOf(record)))
    return { failed: first === undefined ? [] : [sequenceOf(first)] }
  }
}

const sequenceOf = ({ dynamodb }: StreamRecord): string => dynamodb?.SequenceNumber ?? ''
