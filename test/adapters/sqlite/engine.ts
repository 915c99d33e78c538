import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as database from '../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import * as keys from '../../../functions/adapters/sqlite/key-store.ts'
import * as imports from '../../../functions/adapters/sqlite/log/messages/log-import.ts'
import * as reader from '../../../functions/adapters/sqlite/log/messages/log-reader.ts'
import * as feedback from '../../../functions/adapters/sqlite/log/messages/message-feedback.ts'
import * as outbox from '../../../functions/adapters/sqlite/log/deliveries/outbox.ts'
import * as received from '../../../functions/adapters/sqlite/received.ts'
import * as inbox from '../../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import * as lease from '../../../functions/adapters/sqlite/log/runs/run-lease.ts'
import * as log from '../../../functions/adapters/sqlite/log/runs/run-log.ts'
import * as deletion from '../../../functions/adapters/sqlite/log/sessions/session-deletion.ts'
import * as janitor from '../../../functions/adapters/sqlite/log/sessions/session-janitor.ts'
import * as sessions from '../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import * as usage from '../../../functions/adapters/sqlite/log/usage/usage-ledger.ts'
import * as names from '../../../functions/adapters/sqlite/session-names.ts'
import { createManualClock } from '../../contracts/stores.ts'
import type { Engine, ManualClock, SessionPorts, Stores } from '../../contracts/stores.ts'

/** The modules that make up the session store on SQLite. */
export interface SqliteModules {
  readonly database: typeof database
  readonly sessions: typeof sessions
  readonly inbox: typeof inbox
  readonly lease: typeof lease
  readonly log: typeof log
  readonly imports: typeof imports
  readonly reader: typeof reader
  readonly janitor: typeof janitor
  readonly deletion: typeof deletion
  readonly outbox: typeof outbox
  readonly feedback: typeof feedback
  readonly received: typeof received
  readonly names: typeof names
  readonly keys: typeof keys
  readonly usage: typeof usage
}

const SQLITE: SqliteModules = {
  ...{
    database,
    sessions,
    inbox,
    lease,
    log,
    imports,
    reader,
    janitor,
    deletion,
    outbox,
    feedback,
    received,
    names,
    keys,
    usage,
  },
}

/** SQLite in a new file. A second connection acts as the other process. The file is removed on close. */
export const sqliteEngine: Engine = {
  name: 'SQLite',
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tooltrail-contract-'))
    const path = join(folder, 'log.sqlite')
    const stores = openStores(SQLITE, path)
    return { ...stores, close: () => stores.close().then(() => rm(folder, { recursive: true, force: true })) }
  },
}

/**
 * Describes the engine SQLite in memory, with one connection for both processes. Schedules use this engine because it is
 * fast. No other write can occur during a port call.
 */
export const sqliteMemoryEngine = (modules: SqliteModules = SQLITE): Engine => ({
  name: 'SQLite in memory',
  open: async () => openStores(modules, ':memory:'),
})

function openStores(modules: SqliteModules, path: string): Stores {
  const clock = createManualClock()
  const first = modules.database.openDatabase(path)
  const second = path === ':memory:' ? first : modules.database.openDatabase(path)
  const shut = async (): Promise<void> => {
    for (const connection of [first, second]) if (connection.isOpen) connection.close()
  }
  return {
    ...portsOn(modules, first, clock),
    peer: portsOn(modules, second, clock),
    clock,
    breakDown: async () => first.close(),
    close: shut,
  }
}

function portsOn(modules: SqliteModules, connection: database.Database, clock: ManualClock): SessionPorts {
  const dependencies = { database: connection, clock, history: COUNTED_HISTORY }
  return {
    sessions: modules.sessions.createSqliteSessionStore(dependencies),
    inbox: modules.inbox.createSqliteRunInbox(dependencies),
    lease: modules.lease.createSqliteRunLease(dependencies),
    log: modules.log.createSqliteRunLog(dependencies),
    imports: modules.imports.createSqliteLogImport(dependencies),
    reader: modules.reader.createSqliteLogReader(dependencies),
    janitor: modules.janitor.createSqliteSessionJanitor(dependencies),
    deletion: modules.deletion.createSqliteSessionDeletion(dependencies),
    outbox: modules.outbox.createSqliteOutbox(dependencies),
    feedback: modules.feedback.createSqliteMessageFeedback(dependencies),
    received: modules.received.createSqliteReceived(dependencies),
    names: modules.names.createSqliteSessionNames(dependencies),
    keys: modules.keys.createSqliteKeyStore(dependencies),
    usage: modules.usage.createSqliteUsageLedger(dependencies),
  }
}

/** One document per message. Search has its own suites. */
const COUNTED_HISTORY: HistoryProjection = {
  written: () => undefined,
  merge: async () => undefined,
  remove: (_key, messageIds) => messageIds.length,
  removeSome: () => ({ count: 1, more: false }),
  close: async () => undefined,
}
