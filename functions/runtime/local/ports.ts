import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskOutputStore } from '../../adapters/disk/output-store.ts'
import { createMemoryRunQueue } from '../../adapters/memory/run-queue.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createModels } from '../../adapters/models/models.ts'
import { openDatabase, type Database } from '../../adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../adapters/sqlite/history/search/history-index.ts'
import { rebuildSqliteHistory } from '../../adapters/sqlite/history/documents/rebuild.ts'
import { createSqliteHistoryProjection } from '../../adapters/sqlite/history/documents/projection.ts'
import type { HistoryProjection } from '../../adapters/sqlite/history/documents/projection.ts'
import { createSqliteKeyStore } from '../../adapters/sqlite/key-store.ts'
import { createSqliteLogImport } from '../../adapters/sqlite/log/messages/log-import.ts'
import { createSqliteLogReader } from '../../adapters/sqlite/log/messages/log-reader.ts'
import { createSqliteMessageFeedback } from '../../adapters/sqlite/log/messages/message-feedback.ts'
import { createSqliteOutbox } from '../../adapters/sqlite/log/deliveries/outbox.ts'
import { createSqliteRunInbox } from '../../adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteRunLease } from '../../adapters/sqlite/log/runs/run-lease.ts'
import { createSqliteRunLog } from '../../adapters/sqlite/log/runs/run-log.ts'
import { createSqliteSessionDeletion } from '../../adapters/sqlite/log/sessions/session-deletion.ts'
import { createSqliteSessionJanitor } from '../../adapters/sqlite/log/sessions/session-janitor.ts'
import { createSqliteSessionStore } from '../../adapters/sqlite/log/sessions/session-store.ts'
import { createSqliteUsageLedger } from '../../adapters/sqlite/log/usage/usage-ledger.ts'
import { createSqliteReceived } from '../../adapters/sqlite/received.ts'
import { needsReindex } from '../../adapters/sqlite/history/documents/reindex.ts'
import { createSqliteSessionNames } from '../../adapters/sqlite/session-names.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { type Settings } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { createLogger } from '../logger.ts'
import { emptyLogAfterwards } from './emptied-log.ts'
import { createHistoryThread } from './history-thread.ts'
import { registerProcess, type LiveProcess } from './live-process.ts'
import type { OpenPorts } from '../program.ts'
import { DATABASE, privateData } from './private-data.ts'
import { writeToTerminal } from '../terminal-output.ts'

/**
 * Opens all ports on one machine: rows, queue and index in SQLite, outputs on disk, both in the data folder. Throws
 * `SettingsError` if the folder cannot be used.
 */
export function openLocalPorts(
  settings: Pick<Settings, 'dataFolder' | 'logLevel' | 'modelSettings'>,
  clock: Clock = createSystemClock(),
): OpenPorts {
  const path = join(settings.dataFolder, DATABASE)
  const folder = join(settings.dataFolder, 'outputs')
  const logger = createLogger(settings.logLevel, (line) => writeToTerminal('stderr', `${line}\n`))
  const { database, isLeft } = openData(settings.dataFolder, logger)
  const outputs = createDiskOutputStore({ folder })
  const report = (error: unknown): void =>
    logger.warn('indexing the history failed: the next search tries again', { error: String(error) })
  const thread = createHistoryThread({ database, path, outputs: folder, report })
  const history = createSqliteHistoryProjection({ database, merger: thread, report })
  // A killed program may have left messages that are not indexed yet.
  history.written()
  // The thread applies a new version of the tokenizer as soon as it starts.
  if (needsReindex(database)) thread.merge(undefined).catch(report)
  const live = registerProcess({ database, dataFolder: settings.dataFolder, clock, logger })
  const rows = { database, clock, history, process: live.id }
  return {
    sessions: createSqliteSessionStore(rows),
    inbox: createSqliteRunInbox(rows),
    lease: createSqliteRunLease(rows),
    log: createSqliteRunLog(rows),
    imports: createSqliteLogImport(rows),
    reader: createSqliteLogReader(rows),
    janitor: createSqliteSessionJanitor(rows),
    deletion: emptyLogAfterwards({
      deletion: createSqliteSessionDeletion(rows),
      isLeft,
      emptyLog: () => thread.emptyLog(),
      report: (error) => logger.warn('the write-ahead log was not emptied after a deletion', { error: String(error) }),
    }),
    outbox: createSqliteOutbox(rows),
    feedback: createSqliteMessageFeedback(rows),
    received: createSqliteReceived(rows),
    names: createSqliteSessionNames(rows),
    keys: createSqliteKeyStore(rows),
    usage: createSqliteUsageLedger(rows),
    outputs,
    index: createSqliteHistoryIndex({ database, history, clock }),
    queue: createMemoryRunQueue({ clock }),
    models: createModels({ settings: settings.modelSettings }),
    clock,
    logger,
    rebuildHistory: (onProgress) => rebuildSqliteHistory(rows, onProgress),
    close: () => closeAll(history, live, database),
  }
}

async function closeAll(history: HistoryProjection, live: LiveProcess, database: Database): Promise<void> {
  try {
    await history.close()
  } finally {
    try {
      live.close()
    } finally {
      database.close()
    }
  }
}

/** Opens the database. `isLeft`: whether a killed program has left a write-ahead log behind. */
function openData(folder: string, logger: Logger): { readonly database: Database; readonly isLeft: boolean } {
  try {
    const path = privateData(folder, logger)
    const isLeft = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
    return { database: openDatabase(path), isLeft }
  } catch (error) {
    throw new SettingsError(`TOOLTRAIL_DATA: ${folder} cannot be used: ${(error as Error).message}`)
  }
}
