import { TooltrailError } from '../../../../domain/errors.ts'
import { newDelivery } from '../../../../domain/delivery.ts'
import { nextRunId } from '../../../../domain/ids.ts'
import { isEnded, type Run } from '../../../../domain/runs/run.ts'
import { acceptedRun, assertCapacity } from '../../../../domain/runs/run-changes.ts'
import { isBlocked, isFree, type SessionKey } from '../../../../domain/session.ts'
import { openingOf } from '../../../../log/title.ts'
import type { Cancelled, Enqueued, NewRun, RunInbox, RunLimits } from '../../../../ports/run-inbox.ts'
import { resolveCalls } from './call-resolutions.ts'
import { findClaim, knownRun, rememberClaim } from './claims.ts'
import { insertDelivery } from '../deliveries/delivery-rows.ts'
import { runStatusCode } from '../codes.ts'
import { readOne, snapshot, transaction, type Database } from '../../database.ts'
import { writeLog, type LogDependencies } from '../write.ts'
import { insertMessage } from '../messages/message-rows.ts'
import { leaseOwnerOf } from './process-leases.ts'
import { endsSuperseded, requireReplaceable, supersede } from './replacement-rows.ts'
import { insertRun, resolvedRun, saveRun } from './run-rows.ts'
import { atStart, withRun, woken } from '../sessions/session-changes.ts'
import { counted, introduced } from '../sessions/session-outline.ts'
import { headerOf, liveSession, saveSession, type SessionRow } from '../sessions/session-rows.ts'
import { requireBudgetOf } from '../usage/usage-rows.ts'

/** Creates the inbox for clients' requests on SQLite. */
export function createSqliteRunInbox(dependencies: LogDependencies): RunInbox {
  const { database, clock } = dependencies
  return {
    enqueue: (key, run) => enqueue(dependencies, key, run),
    assertCapacity: async (tenant, limits) =>
      snapshot(database, () => assertCapacityOf(database, tenant, limits, clock.now())),
    join: async (key, runId, idempotency) => join(database, key, runId, idempotency, clock.now()),
    resolve: (...given) => resolveCalls(dependencies, ...given),
    findClaim: async (key, keyHash) => snapshot(database, () => findClaim(database, key, keyHash, clock.now())),
    cancel: async (key, runId) => cancel(database, key, runId, clock.now()),
  }
}

function enqueue(dependencies: LogDependencies, key: SessionKey, newRun: NewRun): Promise<Enqueued> {
  const { database, clock, process } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = liveSession(database, key)
    const known = knownRun(database, row, newRun, now)
    if (known !== undefined) return { runId: known, repeated: true }
    requireAcceptable(database, row, newRun)
    const from = newRun.replaces === undefined ? undefined : requireReplaceable(database, row, newRun.replaces)
    assertCapacityOf(database, key.tenant, newRun, now)
    const id = nextRunId(row.tail ?? undefined, row.head ?? undefined, now)
    const run = acceptedRun(newRun, id, now)
    rememberClaim(database, row, newRun, run.id, now)
    if (newRun.delivery !== undefined)
      insertDelivery(database, row.number, newDelivery({ ...key, id: run.id }, newRun.delivery, now))
    const opened = introduced(database, counted(database, row), run.input && openingOf(run.input.parts))
    const left = from === undefined ? opened : supersede(database, opened, { by: run.id, from })
    const accepted: SessionRow = { ...left, tail: run.id, run: run.id, runStatus: runStatusCode(run.status) }
    return newRun.startAs !== undefined && isIdle(row)
      ? startAtOnce(database, row, accepted, run, { owner: leaseOwnerOf(process, newRun.startAs), now })
      : putInQueue(database, row, accepted, run, now)
  })
}

function join(
  database: Database,
  key: SessionKey,
  runId: string,
  idempotency: NonNullable<NewRun['idempotency']>,
  now: number,
): Pick<Enqueued, 'runId' | 'repeated'> {
  return transaction(database, () => {
    const row = liveSession(database, key)
    const known = knownRun(database, row, { idempotency }, now)
    if (known === undefined) rememberClaim(database, row, { idempotency }, runId, now)
    return { runId: known ?? runId, repeated: known !== undefined }
  })
}

const isIdle = (row: SessionRow): boolean => row.leaseOwner === null && row.activeRun === null && row.queued === 0

function startAtOnce(
  database: Database,
  before: SessionRow,
  accepted: SessionRow,
  run: Run,
  options: { readonly owner: string; readonly now: number },
): Enqueued {
  const { row, started } = atStart(accepted, run, options)
  const { number } = insertRun(database, row.number, started.run)
  if (started.message !== undefined) insertMessage(database, row.number, number, started.message)
  saveSession(database, before, row)
  return { runId: run.id, repeated: false, started }
}

/** Queues a run. If the active run is paused and its calls still wait, the new run supersedes it. */
function putInQueue(database: Database, before: SessionRow, accepted: SessionRow, run: Run, now: number): Enqueued {
  const row = woken({ ...accepted, queued: accepted.queued + 1 }, now)
  const superseded: Partial<SessionRow> = isBlocked(headerOf(before))
    ? { cancelRun: before.activeRun, cancelReason: 'superseded' }
    : {}
  insertRun(database, row.number, run)
  saveSession(database, before, { ...row, ...superseded })
  return { runId: run.id, repeated: false }
}

function requireAcceptable(database: Database, row: SessionRow, { trigger, onBusy }: NewRun): void {
  const busy = row.activeRun !== null || row.queued > 0
  if (trigger === 'continue') {
    if (busy || statusAtEnd(database, row) !== runStatusCode('failed') || endsSuperseded(database, row))
      throw new TooltrailError('nothing_to_continue', `session ${row.session} has no failed run to continue`)
    return
  }
  const gives = isBlocked(headerOf(row)) && row.queued === 0
  if (onBusy === 'reject' && busy && !gives)
    throw new TooltrailError('session_busy', `session ${row.session} has a run that has not ended`, { retryable: true })
}

/**
 * Returns the status of the run that wrote the log's last message. Later runs may have been cancelled before they
 * began.
 */
function statusAtEnd(database: Database, { number, head }: SessionRow): number | undefined {
  const sql = 'SELECT r.status FROM messages m JOIN runs r ON r.number = m.run WHERE m.session = ? AND m.id = ?'
  return readOne<{ readonly status: number }>(database, sql, number, head)?.status
}

function assertCapacityOf(database: Database, tenant: string, limits: RunLimits, now: number): void {
  assertKeyCapacity(database, limits)
  requireBudgetOf(database, tenant, limits, now)
}

function assertKeyCapacity(database: Database, { keyId, mostActive }: RunLimits): void {
  if (keyId === undefined || mostActive === undefined) return
  const sql = `SELECT count(*) AS count FROM runs r JOIN sessions s ON s.number = r.session
    WHERE r.apiKey = ? AND r.status < 3 AND s.live = 1`
  assertCapacity(readOne<{ count: number }>(database, sql, keyId)?.count ?? 0, mostActive)
}

function cancel(database: Database, key: SessionKey, runId: string, now: number): Cancelled {
  return transaction(database, () => {
    const row = liveSession(database, key)
    const stored = resolvedRun(database, row.number, runId)
    if (stored === undefined) throw new TooltrailError('run_not_found', `session ${row.session} has no run ${runId}`)
    if (isEnded(stored.run.status)) return { state: 'ended' }
    if (stored.run.status === 'queued') {
      const ended = { status: 'cancelled', stopReason: 'cancelled', endedAt: now } as const
      const { run } = saveRun(database, stored, { ...stored.run, ...ended })
      saveSession(database, row, withRun({ ...row, queued: row.queued - 1 }, run))
      return { state: 'cancelled' }
    }
    saveSession(database, row, woken({ ...row, cancelRun: stored.run.id, cancelReason: 'user' }, now))
    return { state: 'cancelling', free: isFree(headerOf(row), now) }
  })
}
