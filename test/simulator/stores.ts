import { openDatabase } from '../../functions/adapters/sqlite/database.ts'
import type { HistoryProjection } from '../../functions/adapters/sqlite/history/projection.ts'
import { createSqliteKeyStore } from '../../functions/adapters/sqlite/key-store.ts'
import { createSqliteLogReader } from '../../functions/adapters/sqlite/log/log-reader.ts'
import { createSqliteRunInbox } from '../../functions/adapters/sqlite/log/run-inbox.ts'
import { createSqliteRunLease } from '../../functions/adapters/sqlite/log/run-lease.ts'
import { createSqliteRunLog } from '../../functions/adapters/sqlite/log/run-log.ts'
import { createSqliteSessionDeletion } from '../../functions/adapters/sqlite/log/session-deletion.ts'
import { createSqliteSessionJanitor } from '../../functions/adapters/sqlite/log/session-janitor.ts'
import { createSqliteSessionStore } from '../../functions/adapters/sqlite/log/session-store.ts'
import { TooltrailError } from '../../functions/domain/errors.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { OutputStore } from '../../functions/ports/output-store.ts'
import type { SessionPorts } from '../contracts/stores.ts'

/** What all processes of a simulation share. */
export interface SharedStore {
  /** The session ports of a process with this clock. */
  portsFor(clock: Clock): SessionPorts
  close(): void
}

/** SQLite in memory, one connection for all. */
export function openSqliteStore(): SharedStore {
  const database = openDatabase(':memory:')
  return {
    portsFor(clock) {
      const dependencies = { database, clock, history: COUNTED_HISTORY }
      return {
        sessions: createSqliteSessionStore(dependencies),
        inbox: createSqliteRunInbox(dependencies),
        lease: createSqliteRunLease(dependencies),
        log: createSqliteRunLog(dependencies),
        reader: createSqliteLogReader(dependencies),
        janitor: createSqliteSessionJanitor(dependencies),
        deletion: createSqliteSessionDeletion(dependencies),
        keys: createSqliteKeyStore(dependencies),
      }
    },
    close: () => database.close(),
  }
}

/** One document a message; what is searched has suites of its own. */
const COUNTED_HISTORY: HistoryProjection = {
  written: () => undefined,
  merge: async () => undefined,
  remove: (_key, messageIds) => messageIds.length,
  removeSome: () => ({ count: 1, more: false }),
}

export interface MemoryOutputs extends OutputStore {
  /** The names of a session's objects. */
  names(key: SessionKey): readonly string[]
}

/** Objects in memory. */
export function createMemoryOutputs(): MemoryOutputs {
  const objects = new Map<string, { readonly bytes: Uint8Array; readonly mediaType: string }>()
  const folderOf = ({ tenant, session }: SessionKey): string => `${tenant}/${session}/`
  const names = (key: SessionKey): string[] => [...objects.keys()].filter((name) => name.startsWith(folderOf(key)))
  return {
    names,
    async put(key, name, bytes, mediaType) {
      const known = objects.get(folderOf(key) + name)
      if (known === undefined) objects.set(folderOf(key) + name, { bytes: Uint8Array.from(bytes), mediaType })
      else if (Buffer.compare(known.bytes, bytes) !== 0)
        throw new TooltrailError('storage_failed', `there is another object ${name}`)
    },
    async read(key, name, range) {
      const found = objects.get(folderOf(key) + name)
      if (found === undefined) throw new TooltrailError('output_not_found', `there is no object ${name}`)
      return range === undefined ? found.bytes.slice() : found.bytes.slice(range.start, range.end + 1)
    },
    async stat(key, name) {
      const found = objects.get(folderOf(key) + name)
      return found === undefined ? undefined : { bytes: found.bytes.length, mediaType: found.mediaType }
    },
    link: async () => undefined,
    async removeAll(key) {
      const found = names(key)
      for (const name of found) objects.delete(name)
      return found.length
    },
  }
}
