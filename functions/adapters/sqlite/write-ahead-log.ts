import { readOne, type Database } from './database.ts'
import { afterOthers, type WriteGate } from './write-gate.ts'

interface Checkpoint {
  readonly busy: number
}

/**
 * Checkpoints the write-ahead log and empties it, so that it has no deleted texts. Blocks this thread; other writers
 * wait only for the last pages. Returns false if another connection is reading or writing: retry later.
 */
export function emptyLog(database: Database, gate: WriteGate): boolean {
  readOne<Checkpoint>(database, 'PRAGMA wal_checkpoint(PASSIVE)')
  // The busy timeout is 0 during the checkpoint. Otherwise, the statement would hold the writer's lock while it waits
  // for readers.
  const { timeout = 0 } = readOne<{ readonly timeout: number }>(database, 'PRAGMA busy_timeout') ?? {}
  database.exec('PRAGMA busy_timeout = 0')
  try {
    return afterOthers(gate, () => readOne<Checkpoint>(database, 'PRAGMA wal_checkpoint(TRUNCATE)'))?.busy === 0
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeout}`)
  }
}
