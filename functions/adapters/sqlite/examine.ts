import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface DatabaseReport {
  readonly bytes: number
  /** What SQLite finds wrong; empty for a sound file. */
  readonly damage: readonly string[]
  /** Messages that wait to be indexed. */
  readonly unindexed: number
}

const MAX_PROBLEMS = 5

/** Examines a database file without changing it. Throws SQLite's error for a file that cannot be opened at all. */
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
