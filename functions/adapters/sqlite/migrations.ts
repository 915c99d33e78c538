import type { DatabaseSync } from 'node:sqlite'
import {
  HISTORY_AUDIENCES_SCHEMA,
  HISTORY_MARKS_SCHEMA,
  HISTORY_PENDING_SCHEMA,
  HISTORY_SCHEMA,
} from './history/schema.ts'
import { DUE_BY_TENANT_SCHEMA, LISTS_SCHEMA, LOG_SCHEMA, REQUEST_RATES_SCHEMA } from './log/schema.ts'

/**
 * What brings a file from version n to n + 1, in order. A version that was ever released is never changed: a change is a new
 * entry at the end.
 */
const MIGRATIONS: readonly string[] = [
  LOG_SCHEMA,
  HISTORY_SCHEMA,
  HISTORY_PENDING_SCHEMA,
  REQUEST_RATES_SCHEMA,
  HISTORY_MARKS_SCHEMA,
  DUE_BY_TENANT_SCHEMA,
  LISTS_SCHEMA,
  HISTORY_AUDIENCES_SCHEMA,
]

/**
 * Brings the tables up to date, once, whoever comes first: the version is read again under the write lock. Throws for a file
 * that a newer program has written.
 */
export function migrate(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  if (versionOf(database) === migrations.length) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(database)
    if (version > migrations.length)
      throw new Error(`its version is ${version}, this program knows ${migrations.length}: use the newer program`)
    for (const sql of migrations.slice(version)) database.exec(sql)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}
