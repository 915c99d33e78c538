import { isBlocked, isFree, type Lease, type SessionHeader, type SessionKey } from '../../../../domain/session.ts'
import { LeaseLost } from '../../../../domain/errors.ts'
import { dequeuedRun, resumedRun } from '../../../../domain/runs/run-changes.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { RunLease, Started } from '../../../../ports/run-lease.ts'
import { reading, transaction, write, type Database } from '../../database.ts'
import { writeLog, type LogDependencies } from '../write.ts'
import { firstMessage, insertMessage, openCalls } from '../messages/message-rows.ts'
import { leaseOwnerOf } from './process-leases.ts'
import { findRun, queuedRuns, saveRun } from './run-rows.ts'
import { heldSession, leased, leaseOf, released, atStart, wasReleased, withRun } from '../sessions/session-changes.ts'
import { counted } from '../sessions/session-outline.ts'
import {
  findHeader,
  findLiveSession,
  findSession,
  headerOf,
  saveSession,
  type SessionRow,
} from '../sessions/session-rows.ts'

/** Minimum interval at which heartbeats also move `due`. */
const DUE_STEP_MS = 60_000

/** Creates the lease store of sessions on SQLite. */
export function createSqliteRunLease(dependencies: LogDependencies): RunLease {
  const { database, clock, process } = dependencies
  return {
    readHeader: async (key) => readHeader(database, key),
    readHeaderEventually: async (key) => readHeader(database, key),
    start: (seen, nonce) => start(dependencies, seen, leaseOwnerOf(process, nonce)),
    take: async (seen, nonce) => take(database, clock, seen, leaseOwnerOf(process, nonce)),
    claim: async (lease) => claim(database, lease),
    heartbeat: async (lease, until) => heartbeat(database, lease, until),
    release: async (lease) => release(database, clock, lease),
  }
}

function readHeader(database: Database, key: SessionKey): SessionHeader | undefined {
  return reading(database, () => findHeader(database, key))
}

function start(dependencies: LogDependencies, seen: SessionHeader, owner: string): Promise<Started | undefined> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = findLiveSession(database, seen)
    if (row === undefined) return undefined
    if (isOwnedSince(row, seen, owner)) return startedBefore(database, row, owner)
    if (row.generation !== seen.generation || row.activeRun !== null || !isFree(headerOf(row), now)) return undefined
    const [queued] = queuedRuns(database, row.number, 1)
    if (queued === undefined) return undefined
    const { row: next, started } = atStart(counted(database, row), queued.run, { owner, now, begin: dequeuedRun })
    saveRun(database, queued, started.run)
    if (started.message !== undefined) insertMessage(database, row.number, queued.number, started.message)
    saveSession(database, row, { ...next, queued: row.queued - 1 })
    return started
  })
}

/**
 * Whether this owner has acquired the lease since it read the header. If so, the response to this attempt was lost,
 * because each attempt has its own owner.
 */
const isOwnedSince = (row: SessionRow, seen: SessionHeader, owner: string): boolean =>
  row.leaseOwner === owner && row.generation === seen.generation + 1

function startedBefore(database: Database, row: SessionRow, owner: string): Started | undefined {
  const stored = row.activeRun === null ? undefined : findRun(database, row.number, row.activeRun)
  if (stored === undefined) return undefined
  const message = firstMessage(database, stored.number)
  const lease = leaseOf(row, owner, stored.run.id)
  return { lease, run: stored.run, ...(stored.run.trigger === 'input' && message?.role === 'user' ? { message } : {}) }
}

function take(database: Database, clock: Clock, seen: SessionHeader, owner: string): Lease | undefined {
  const now = clock.now()
  return transaction(database, () => {
    const row = findLiveSession(database, seen)
    if (row === undefined || row.activeRun === null || row.activeRun !== seen.activeRun) return undefined
    if (isOwnedSince(row, seen, owner)) return leaseOf(row, owner, row.activeRun)
    if (row.generation !== seen.generation) return undefined
    const header = headerOf(row)
    if (!isFree(header, now) || isBlocked(header)) return undefined
    const stored = findRun(database, row.number, row.activeRun)
    if (stored === undefined) throw new Error(`run ${row.activeRun} is active and has no row`)
    const { run } = saveRun(database, stored, resumedRun(stored.run, row.head ?? undefined, row.generation + 1))
    const takeovers = header.lease === undefined ? row.takeovers : row.takeovers + 1
    const next = withRun({ ...leased(row, owner, now), paused: 0, takeovers }, run)
    saveSession(database, row, next)
    return leaseOf(next, owner, run.id)
  })
}

function claim(database: Database, lease: Lease): Awaited<ReturnType<RunLease['claim']>> {
  return transaction(database, () => {
    const row = heldSession(database, lease)
    const stored = findRun(database, row.number, lease.runId)
    if (stored === undefined) throw new LeaseLost(lease.session, lease.generation)
    const claimRunning = 'UPDATE messages SET generation = ? WHERE run = ? AND status = 0 AND generation < ?'
    write(database, claimRunning, lease.generation, stored.number, lease.generation)
    return {
      lease: { ...lease, head: row.head ?? undefined },
      header: headerOf(row),
      open: openCalls(database, stored.number),
    }
  })
}

function heartbeat(database: Database, lease: Lease, until: number): void {
  transaction(database, () => {
    const row = heldSession(database, lease)
    if (row.leaseUntil !== null && row.leaseUntil >= until) return
    const due = row.due === null || until - row.due >= DUE_STEP_MS ? until : row.due
    saveSession(database, row, { ...row, leaseUntil: until, due })
  })
}

function release(database: Database, clock: Clock, lease: Lease): void {
  transaction(database, () => {
    const before = findSession(database, lease)
    // An earlier attempt of this holder has released the lease already.
    if (wasReleased(before, lease) && before.paused === 0) return
    const row = heldSession(database, lease)
    saveSession(database, row, { ...released(row), due: clock.now() })
  })
}
