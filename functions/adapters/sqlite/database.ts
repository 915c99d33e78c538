import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { TooltrailError } from '../../domain/errors.ts'
import { migrate, MIGRATIONS } from './migrations.ts'
import { beforeOthers } from './write-gate.ts'

export type Database = DatabaseSync

/** Maximum wait of a statement while another process writes. */
const BUSY_TIMEOUT_MS = 5_000
/** Page size of new files. A commit writes whole pages, so larger pages would double the bytes that a turn writes. */
const PAGE_BYTES = 4096
/**
 * Maximum attempts to open a file. If two processes open a new file at the same time, both switch it to WAL. SQLite
 * does not wait during this switch, so one process fails and must try again.
 */
const OPEN_ATTEMPTS = 200
const OPEN_RETRY_MS = 25

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const PASSING_FAILURES: readonly number[] = [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL]

/** Opens the file with its tables up to date. `:memory:` opens a database that lasts as long as its connection. */
export function openDatabase(path: string): Database {
  for (let attempt = 1; ; attempt++) {
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      database.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
      database.exec('PRAGMA journal_mode = WAL')
      database.exec('PRAGMA synchronous = FULL')
      // Deleted content is overwritten in the file (promises L9). This writes a sixth more bytes to the disk, but takes
      // no more time.
      database.exec('PRAGMA secure_delete = ON')
      migrate(database)
      // The version is not read again from the file, because a newer program may have upgraded the file since
      // `migrate`.
      versions.set(database, MIGRATIONS.length)
      return database
    } catch (error) {
      database.close()
      if (sqliteCode(error) !== SQLITE_BUSY || attempt === OPEN_ATTEMPTS) throw storageError(error)
      pauseThread(OPEN_RETRY_MS)
    }
  }
}

const prepared = new WeakMap<Database, Map<string, StatementSync>>()

/** Returns the prepared statement of this SQL; it is prepared once per connection. */
export function statement(database: Database, sql: string): StatementSync {
  const statements = prepared.get(database) ?? new Map<string, StatementSync>()
  prepared.set(database, statements)
  const found = statements.get(sql) ?? database.prepare(sql)
  statements.set(sql, found)
  return found
}

/** Returns the first row. The caller declares the type of its columns. */
export function readOne<Row>(database: Database, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return statement(database, sql).get(...values) as Row | undefined
}

/** Returns all rows. The caller declares the type of their columns. */
export function readAll<Row>(database: Database, sql: string, ...values: SQLInputValue[]): Row[] {
  return statement(database, sql).all(...values) as Row[]
}

/** Yields rows one after another. The caller declares the type of their columns. */
export function readEach<Row>(database: Database, sql: string, ...values: SQLInputValue[]): IterableIterator<Row> {
  return statement(database, sql).iterate(...values) as IterableIterator<Row>
}

/** Runs a statement and returns how many rows were written. */
export function write(database: Database, sql: string, ...values: SQLInputValue[]): number {
  return Number(statement(database, sql).run(...values).changes)
}

/**
 * Runs `work` as one write transaction. All writes are durable when this function returns. If this function throws, no
 * write is stored. Throws the error of `work`, or `storage_failed` for any failure of SQLite.
 * `work` must be synchronous. Otherwise, other work on this connection could run inside its transaction.
 */
export function transaction<T>(database: Database, work: () => T): T {
  return beforeOthers(database, () =>
    inTransaction(database, 'BEGIN IMMEDIATE', () => {
      requireVersion(database)
      return work()
    }),
  )
}

/** For each open database, the version of its file at the time of opening. */
const versions = new WeakMap<Database, number>()

const versionOf = (database: Database): number =>
  readOne<{ readonly user_version: number }>(database, 'PRAGMA user_version')?.user_version ?? 0

/**
 * Throws if a newer program has upgraded the file since this program opened it. The rows may then have another meaning.
 */
function requireVersion(database: Database): void {
  const opened = versions.get(database)
  const now = versionOf(database)
  if (opened === undefined || now === opened) return
  const detail = `a newer program has upgraded the database from version ${opened} to ${now}: restart with that program`
  throw new TooltrailError('storage_failed', detail)
}

/** Runs `work` on one consistent state of the database, even if other processes write at that time. */
export function snapshot<T>(database: Database, work: () => T): T {
  return inTransaction(database, 'BEGIN', work)
}

function inTransaction<T>(database: Database, begin: string, work: () => T): T {
  try {
    statement(database, begin).run()
    const result = work()
    statement(database, 'COMMIT').run()
    return result
  } catch (error) {
    // A full disk or an I/O error may have ended the transaction already.
    if (database.isOpen && database.isTransaction) database.exec('ROLLBACK')
    throw database.isOpen ? asFailure(error) : storageError(error)
  }
}

/**
 * Runs `work` without a transaction. `work` may run only one statement: a single statement sees one consistent state
 * without a transaction.
 */
export function reading<T>(database: Database, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw database.isOpen ? asFailure(error) : storageError(error)
  }
}

/** Converts a failure of SQLite to `storage_failed`; returns every other error unchanged. */
export const asFailure = (error: unknown): unknown => (sqliteCode(error) === undefined ? error : storageError(error))

/** Returns SQLite's primary result code; undefined for any other error. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

function storageError(error: unknown): TooltrailError {
  const code = sqliteCode(error)
  const detail = error instanceof Error ? error.message : String(error)
  return new TooltrailError('storage_failed', `the database could not do this: ${detail}`, {
    retryable: code !== undefined && PASSING_FAILURES.includes(code),
    cause: error,
  })
}

function pauseThread(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
