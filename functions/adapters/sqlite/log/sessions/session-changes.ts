import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost } from '../../../../domain/errors.ts'
import { nextId } from '../../../../domain/ids.ts'
import type { AssistantMessage } from '../../../../domain/messages/message.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import { messageOfInput, startedRun, withCompletion } from '../../../../domain/runs/run-changes.ts'
import { COPY_EXPIRY_MS, LEASE_MS, type Lease } from '../../../../domain/session.ts'
import type { Started } from '../../../../ports/run-lease.ts'
import { runStatusCode } from '../codes.ts'
import type { Database } from '../../database.ts'
import { withCounted } from './session-outline.ts'
import { encodeTotals, findSession, totalsOf, type SessionRow } from './session-rows.ts'

const DAY_MS = 86_400_000

/** Whether this lease holds the session. The session protocol calls this condition *mine*. */
export function isHeld(row: SessionRow | undefined, lease: Lease): row is SessionRow {
  return row?.live === 1 && row.generation === lease.generation && row.activeRun === lease.runId
}

/** Whether the holder of this lease released it while the run was active, and no holder has acquired it since. */
export function wasReleased(row: SessionRow | undefined, lease: Lease): row is SessionRow {
  const isNext = row?.live === 1 && row.generation === lease.generation + 1 && row.leaseUntil === null
  return isNext && lease.runId === row.activeRun
}

/** Returns the row of the session that this lease holds. Throws `LeaseLost` if the lease does not hold the session. */
export function heldSession(database: Database, lease: Lease): SessionRow {
  const row = findSession(database, lease)
  if (!isHeld(row, lease)) throw new LeaseLost(lease.session, lease.generation)
  return row
}

/** Makes the session due now, unless it is due already. */
export const woken = (row: SessionRow, now: number): SessionRow => ({ ...row, due: row.due ?? now })

/** Releases the lease. The generation is increased, so that no late write can revive the lease. */
export const released = (row: SessionRow): SessionRow => ({
  ...row,
  leaseOwner: null,
  leaseUntil: null,
  generation: row.generation + 1,
})

/** Gives the lease to `owner` for the usual duration of a lease. */
export const leased = (row: SessionRow, owner: string, now: number): SessionRow => ({
  ...row,
  leaseOwner: owner,
  leaseUntil: now + LEASE_MS,
  generation: row.generation + 1,
  due: now + LEASE_MS,
})

/** Returns the lease that a row has after `leased`. */
export const leaseOf = (row: SessionRow, owner: string, runId: string): Lease => ({
  tenant: row.tenant,
  session: row.session,
  generation: row.generation,
  owner,
  runId,
  until: row.leaseUntil ?? 0,
  head: row.head ?? undefined,
})

/** Renews the session's expiry when a run begins, pauses or ends. */
export const alive = (row: SessionRow, now: number): SessionRow => ({ ...row, expiresAt: expiryOf(row, now) })

/** Returns the expiry of a session whose last activity is now; null if the session never expires. */
export const expiryOf = ({ ttlDays }: Pick<SessionRow, 'ttlDays'>, now: number): number | null =>
  ttlDays === null ? null : now + ttlDays * DAY_MS

/** Postpones the expiry of a session that awaits a copy. */
export const awaitingCopy = (row: SessionRow, now: number): SessionRow => ({
  ...row,
  expiresAt: row.expiresAt === null ? null : Math.max(row.expiresAt, now + COPY_EXPIRY_MS),
})

/** Records an activity. The time never decreases, even if the clock is set back. */
export const active = (row: SessionRow, now: number): SessionRow => ({
  ...row,
  updatedAt: Math.max(row.updatedAt, now),
})

/** Copies the run's status to the session if the run is the session's latest one. */
export const withRun = (row: SessionRow, run: Run): SessionRow =>
  row.run === run.id ? { ...row, runStatus: runStatusCode(run.status) } : row

/** Counts one more completion in the session's totals. */
export function counting(row: SessionRow, message: AssistantMessage): SessionRow {
  const { byAgent, ...totals } = totalsOf(row)
  const { usageByAgent, ...counted } = withCompletion({ ...totals, usageByAgent: byAgent }, message)
  return { ...row, totals: encodeTotals({ ...counted, byAgent: usageByAgent }) }
}

/**
 * Starts a queued run: returns the session's new row, the started run and the input's message. `begin` makes the
 * started run. The session's messages must be counted already. The caller stores all three.
 */
export function atStart(
  row: SessionRow,
  queued: Run,
  {
    owner,
    now,
    begin = startedRun,
  }: { readonly owner: string; readonly now: number; readonly begin?: typeof startedRun },
): { row: SessionRow; started: Started } {
  const run = begin(queued, now, row.generation + 1)
  const message = queued.input && messageOfInput(queued, run, nextId(row.head ?? undefined, now), now)
  const counted = message === undefined ? row : withCounted(row, [message])
  const totals = totalsOf(row)
  const free: SessionRow = {
    ...counted,
    activeRun: run.id,
    paused: 0,
    head: message?.id ?? row.head,
    takeovers: 0,
    cancelRun: null,
    cancelReason: null,
    totals: encodeTotals({ ...totals, runs: totals.runs + 1 }),
  }
  const started = withRun(active(alive(leased(free, owner, now), now), now), run)
  const lease = leaseOf(started, owner, run.id)
  return { row: started, started: { lease, run, ...definedFields({ message }) } }
}
