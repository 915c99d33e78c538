import { readOne, type Database } from './database.ts'
import { afterOthers, type WriteGate } from './write-gate.ts'

interface Checkpoint {
  readonly busy: number
}

/**
 * Moves what is in the write-ahead log to the file and leaves the log with no bytes, so that it has no texts of what was deleted
 * before. Blocks this thread; others wait for the last pages only. False if somebody is reading or writing just then: try again.
 */
export function emptyLog(database: Database, gate: WriteGate): boolean {
  readOne<Checkpoint>(database, 'PRAGMA wal_checkpoint(PASSIVE)')
  // It would wait for readers with the lock of writers in its hands.
  const { timeout = 0 } = readOne<{ readonly timeout: number }>(database, 'PRAGMA busy_timeout') ?? {}
  database.exec('PRAGMA busy_timeout = 0')
  try {
    return afterOthers(gate, () => readOne<Checkpoint>(database, 'PRAGMA wal_checkpoint(TRUNCATE)'))?.busy === 0
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeout}`)
  }
}
