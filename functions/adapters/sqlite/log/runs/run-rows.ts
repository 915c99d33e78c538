import type { Run } from '../../../../domain/runs/run.ts'
import { runStatusCode, runStatusOf } from '../codes.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import { pack, unpack } from '../messages/packed-text.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

export interface RunRow {
  readonly number: number
  readonly id: string
  readonly status: number
  readonly apiKey: string | null
  readonly body: string
  readonly request: string | Uint8Array | null
}
/** A run with the number that its messages refer to. */
export interface StoredRun {
  readonly number: number
  readonly run: Run
}

/** Selects runs as `RunRow`. */
export const SELECT_RUNS = `SELECT r.number, r.id, r.status, r.apiKey, r.body, q.body AS request
  FROM runs r LEFT JOIN requests q ON q.run = r.number`

/** Returns the run of a row. */
export function runOf(row: RunRow): StoredRun {
  const columns = {
    id: row.id,
    status: runStatusOf(row.status),
    ...(row.apiKey === null ? {} : { keyId: row.apiKey }),
  }
  const request = row.request === null ? { clientTools: [] } : (readJson(unpack(row.request)) as object)
  // The cast is safe: `bodyOf` and `requestOf` wrote the texts from a run.
  return { number: row.number, run: { ...(readJson(row.body) as object), ...columns, ...request } as Run }
}

/** Adds a run, and returns it with its number. */
export function insertRun(database: Database, session: number, run: Run): StoredRun {
  const row = readOne<{ number: number }>(
    database,
    'INSERT INTO runs (session, id, status, apiKey, body) VALUES (?, ?, ?, ?, ?) RETURNING number',
    session,
    run.id,
    runStatusCode(run.status),
    run.keyId ?? null,
    bodyOf(run),
  )
  if (row === undefined) throw new Error(`run ${run.id} was not inserted`)
  const request = requestOf(run)
  if (request !== undefined) write(database, 'INSERT INTO requests (run, body) VALUES (?, ?)', row.number, request)
  return { number: row.number, run }
}

/** Replaces a run. */
export function saveRun(database: Database, before: StoredRun, run: Run): StoredRun {
  if (before.run.status === run.status)
    write(database, 'UPDATE runs SET body = ? WHERE number = ?', bodyOf(run), before.number)
  else {
    const sql = 'UPDATE runs SET status = ?, body = ? WHERE number = ?'
    write(database, sql, runStatusCode(run.status), bodyOf(run), before.number)
  }
  if (before.run.input !== undefined && run.input === undefined) saveRequest(database, before, run)
  return { number: before.number, run }
}

/**
 * Replaces the request of a run: its input, client tools, instructions and settings. Does nothing if `run` is the same
 * object as the stored run.
 */
export function saveRequest(database: Database, before: StoredRun, run: Run): void {
  if (run === before.run) return
  const request = requestOf(run)
  if (request === undefined) write(database, 'DELETE FROM requests WHERE run = ?', before.number)
  else write(database, PUT_REQUEST, before.number, request)
}

/** Stores the request of a run, which may have none yet. */
const PUT_REQUEST =
  'INSERT INTO requests (run, body) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET body = excluded.body'

/** Returns the run with this id in this session. */
export function findRun(database: Database, session: number, id: string): StoredRun | undefined {
  const row = readOne<RunRow>(database, `${SELECT_RUNS} WHERE r.session = ? AND r.id = ?`, session, id)
  return row && runOf(row)
}

/** Returns the run with this id, or the run that it was merged into. */
export function resolvedRun(database: Database, session: number, id: string): StoredRun | undefined {
  const stored = findRun(database, session, id)
  const target = stored?.run.mergedInto
  return target === undefined ? stored : findRun(database, session, target)
}

/** Returns the session's queued runs, in the order of acceptance. */
export function queuedRuns(database: Database, session: number, limit: number): StoredRun[] {
  const sql = `${SELECT_RUNS} WHERE r.session = ? AND r.status = 0 ORDER BY r.id LIMIT ?`
  return readAll<RunRow>(database, sql, session, limit).map(runOf)
}

/** Selects steering runs with the exact conditions of the index `runs_steering`, so that SQLite uses it. */
const STEERING = `SELECT id FROM runs WHERE session = ? AND status = 0 AND body ->> 'onBusy' = 'steer' ORDER BY id LIMIT ?`

/** Returns the ids of queued runs that steer, in the order of acceptance. */
export const steeringRuns = (database: Database, session: number, limit: number): string[] =>
  readAll<{ readonly id: string }>(database, STEERING, session, limit).map(({ id }) => id)

function bodyOf(run: Run): string {
  const columns = { id: undefined, status: undefined, keyId: undefined }
  const request = { input: undefined, clientTools: undefined, instructions: undefined, settings: undefined }
  return JSON.stringify({ ...run, ...columns, ...request })
}

function requestOf({ input, clientTools, instructions, settings }: Run): string | Uint8Array | undefined {
  if ((input ?? instructions ?? settings) === undefined && clientTools.length === 0) return undefined
  return pack(JSON.stringify({ input, clientTools, instructions, settings }))
}
