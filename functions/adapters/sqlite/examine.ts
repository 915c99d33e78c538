import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface DatabaseReport {
  readonly bytes: number
  /** Faults that SQLite finds; empty for an intact file. */
  readonly damage: readonly string[]
  /** Number of messages that are not indexed yet. */
  readonly unindexed: number
}

const MAX_PROBLEMS = 5

/** Examines a database file without changing it. Throws SQLite's error if the file cannot be opened. */
export function examineDatabase(path: string): DatabaseReport {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    const found = database
      .prepare(`PRAGMA quick_check(${MAX_PROBLEMS})`)
      .all()
      .map((row) => String(row['quick_check']))
    const marks = database.prepare('SELECT count(*) AS count FROM historyMarks').get()
    return {
      bytes: statSync(path).size,
      damage: found.filter((line) => line !== 'ok'),
      unindexed: Number(marks?.['count'] ?? 0),
    }
  } finally {
    database.close()
  }
}
