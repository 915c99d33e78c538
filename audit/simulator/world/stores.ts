import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../functions/adapters/sqlite/database.ts'
import type { Database } from '../../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../../functions/adapters/sqlite/history/documents/projection.ts'
import { createSqliteKeyStore } from '../../../functions/adapters/sqlite/key-store.ts'
import { createSqliteLogImport } from '../../../functions/adapters/sqlite/log/messages/log-import.ts'
import { createSqliteLogReader } from '../../../functions/adapters/sqlite/log/messages/log-reader.ts'
import { createSqliteMessageFeedback } from '../../../functions/adapters/sqlite/log/messages/message-feedback.ts'
import { createSqliteOutbox } from '../../../functions/adapters/sqlite/log/deliveries/outbox.ts'
import { createSqliteReceived } from '../../../functions/adapters/sqlite/received.ts'
import { createSqliteSessionNames } from '../../../functions/adapters/sqlite/session-names.ts'
import { expireLeases } from '../../../functions/adapters/sqlite/log/runs/process-leases.ts'
import { createSqliteRunInbox } from '../../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteRunLease } from '../../../functions/adapters/sqlite/log/runs/run-lease.ts'
import { createSqliteRunLog } from '../../../functions/adapters/sqlite/log/runs/run-log.ts'
import { createSqliteSessionDeletion } from '../../../functions/adapters/sqlite/log/sessions/session-deletion.ts'
import { createSqliteSessionJanitor } from '../../../functions/adapters/sqlite/log/sessions/session-janitor.ts'
import { createSqliteSessionStore } from '../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { createSqliteUsageLedger } from '../../../functions/adapters/sqlite/log/usage/usage-ledger.ts'
import type { Clock } from '../../../functions/ports/clock.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import type { MemoryOutputs } from './outputs.ts'
import type { Script } from '../scripts/script.ts'
import type { SimulatedIndex } from '../history/simulated-index.ts'
import { createStoredIndex } from '../history/stored-index.ts'
import type { Process } from './timeline.ts'

/** The store that all processes of a simulation share. */
export interface SharedStore {
  /**
   * Returns the session ports of a process with this clock. Without a process, the ports are for callers outside the
   * simulation.
   */
  portsFor(clock: Clock, process?: Process): SessionPorts
  /**
   * Expires the leases of ended processes. A program on one machine does this when it starts. `now` is in milliseconds
   * since 1970.
   */
  expireLeases?(ended: readonly string[], now: number): void
  /** The history index, if the store contains one. */
  readonly index?: SimulatedIndex | undefined
  /** Whether the sweeper must remove expired sessions. If false, the store removes them itself. */
  readonly expires: boolean
  /** Whether a call consists of several requests to an engine. Each request is then a step. */
  readonly inSteps?: true
  close(): void | Promise<void>
}

/**
 * Opens SQLite in memory, with one connection for all processes. The store also contains the history index, unless
 * functions update an index from a stream.
 */
export function openMemoryStore(script: Script, outputs: MemoryOutputs): SharedStore {
  const database = openDatabase(':memory:')
  return openSqliteStore(script, outputs, { database, connect: () => database, close: () => database.close() })
}

/** Opens SQLite in a file. Each process has its own connection, as in the real program. */
export function openFileStore(script: Script, outputs: MemoryOutputs): SharedStore {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-simulator-'))
  const connections: Database[] = []
  const connect = (): Database => {
    const database = openDatabase(join(folder, 'tooltrail.db'))
    connections.push(database)
    return database
  }
  const close = (): void => {
    for (const database of connections) database.close()
    rmSync(folder, { recursive: true })
  }
  return openSqliteStore(script, outputs, { database: connect(), connect, close })
}

interface Connections {
  /** Connection for callers outside the simulation. */
  readonly database: Database
  /** Opens a connection for one process. */
  readonly connect: () => Database
  readonly close: () => void
}

function openSqliteStore(
  { functions }: Script,
  outputs: MemoryOutputs,
  { database: nobodys, connect, close }: Connections,
): SharedStore {
  const index = functions === true ? undefined : createStoredIndex(nobodys, outputs)
  return {
    index,
    portsFor(clock, process) {
      const database = process === undefined ? nobodys : connect()
      const history = index?.projectionOf(process, database) ?? COUNTED_HISTORY
      const dependencies = { database, clock, history, process: process?.name }
      return {
        sessions: createSqliteSessionStore(dependencies),
        inbox: createSqliteRunInbox(dependencies),
        lease: createSqliteRunLease(dependencies),
        log: createSqliteRunLog(dependencies),
        imports: createSqliteLogImport(dependencies),
        reader: createSqliteLogReader(dependencies),
        janitor: createSqliteSessionJanitor(dependencies),
        deletion: createSqliteSessionDeletion(dependencies),
        outbox: createSqliteOutbox(dependencies),
        feedback: createSqliteMessageFeedback(dependencies),
        received: createSqliteReceived(dependencies),
        names: createSqliteSessionNames(dependencies),
        keys: createSqliteKeyStore(dependencies),
        usage: createSqliteUsageLedger(dependencies),
      }
    },
    expireLeases: (ended, now) => ended.forEach((name) => void expireLeases(nobodys, name, now)),
    expires: true,
    close,
  }
}

/** A projection that counts one document per message and stores none, because the index is outside of the store. */
const COUNTED_HISTORY: HistoryProjection = {
  written: () => undefined,
  merge: async () => undefined,
  remove: (_key, messageIds) => messageIds.length,
  removeSome: () => ({ count: 1, more: false }),
  close: async () => undefined,
}
