import { DatabaseSync } from 'node:sqlite'

const PROBES = 5
const PAUSE_MS = 10
const QUIET_TIMEOUT_MS = 5_000

/**
 * Blocks this thread until the other threads of the process have stopped writing to a SQLite file. A process stopped
 * within a transaction keeps its lock, and then no other process can write.
 */
export function waitUntilQuiet(path: string): void {
  const database = new DatabaseSync(path, { timeout: 0 })
  const pause = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const deadline = performance.now() + QUIET_TIMEOUT_MS
  try {
    for (let quiet = 0; quiet < PROBES && performance.now() < deadline;) {
      quiet = isFree(database) ? quiet + 1 : 0
      Atomics.wait(pause, 0, 0, PAUSE_MS)
    }
  } finally {
    database.close()
  }
}

function isFree(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE')
    database.exec('ROLLBACK')
    return true
  } catch {
    return false
  }
}
