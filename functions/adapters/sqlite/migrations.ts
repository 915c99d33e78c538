import type { DatabaseSync } from 'node:sqlite'
import {
  HISTORY_CURSORS_SCHEMA,
  HISTORY_PAGES_SCHEMA,
  HISTORY_PENDING_WORDS_SCHEMA,
  HISTORY_PRINTS_SCHEMA,
  HISTORY_NEIGHBOURS_SCHEMA,
  HISTORY_REINDEX_SCHEMA,
  HISTORY_SEARCHED_RUNS_SCHEMA,
  HISTORY_SHORT_MERGES_SCHEMA,
  HISTORY_SCHEMA,
  HISTORY_SEARCHED_SCHEMA,
  HISTORY_TASKS_SCHEMA,
  HISTORY_WORDS_SCHEMA,
  HISTORY_MERGE_SCHEMA,
} from './history/schema.ts'
import {
  CONTEXT_SCHEMA,
  KEY_USES_SCHEMA,
  LOG_SCHEMA,
  LONG_TEXTS_SCHEMA,
  NAMES_SCHEMA,
  OPEN_CALLS_SCHEMA,
  OUTBOX_SCHEMA,
  PENDING_SCHEMA,
  RECEIVED_SCHEMA,
  REPLACEMENTS_SCHEMA,
  SOURCES_SCHEMA,
  STEERING_SCHEMA,
  TEAM_SCHEMA,
} from './log/schema.ts'
import { LISTS_SCHEMA } from './log/sessions/list-schema.ts'
import { USAGE_SCHEMA } from './log/usage/usage-schema.ts'

/**
 * Application id in the header of each of our files. Files from before the first release have none, and their rows
 * cannot be read.
 */
const APPLICATION = 0x74747261

/**
 * Migrations of a file from version n to n + 1, in order. A released migration is never changed: append a new one
 * instead.
 */
export const MIGRATIONS: readonly string[] = [
  ...[LOG_SCHEMA, HISTORY_SCHEMA, USAGE_SCHEMA, STEERING_SCHEMA, CONTEXT_SCHEMA],
  ...[
    SOURCES_SCHEMA,
    TEAM_SCHEMA,
    OUTBOX_SCHEMA,
    RECEIVED_SCHEMA,
    HISTORY_PAGES_SCHEMA,
    LONG_TEXTS_SCHEMA,
    NAMES_SCHEMA,
    HISTORY_SEARCHED_SCHEMA,
    PENDING_SCHEMA,
    HISTORY_WORDS_SCHEMA,
    HISTORY_TASKS_SCHEMA,
    HISTORY_MERGE_SCHEMA,
    HISTORY_PRINTS_SCHEMA,
    HISTORY_SHORT_MERGES_SCHEMA,
    HISTORY_SEARCHED_RUNS_SCHEMA,
    OPEN_CALLS_SCHEMA,
    LISTS_SCHEMA,
    HISTORY_CURSORS_SCHEMA,
    HISTORY_PENDING_WORDS_SCHEMA,
    KEY_USES_SCHEMA,
    HISTORY_REINDEX_SCHEMA,
    REPLACEMENTS_SCHEMA,
    HISTORY_NEIGHBOURS_SCHEMA,
  ],
]

/**
 * Updates the tables once, even if several processes try: the version is read again under the write lock. Throws for a
 * file of a newer program, and for a file from before the first release.
 */
export function migrate(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  if (versionOf(database) === migrations.length && applicationOf(database) === APPLICATION) return
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = versionOf(database)
    if (version > migrations.length)
      throw new Error(`its version is ${version}, this program knows ${migrations.length}: use the newer program`)
    if (version > 0 && applicationOf(database) !== APPLICATION)
      throw new Error('it was written before the first release: move it away, or name another folder in TOOLTRAIL_DATA')
    database.exec(`PRAGMA application_id = ${APPLICATION}`)
    for (const sql of migrations.slice(version)) database.exec(sql)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function applicationOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}
