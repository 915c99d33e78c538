import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost } from '../../../../domain/errors.ts'
import { nextId } from '../../../../domain/ids.ts'
import type { AssistantMessage } from '../../../../domain/messages/message.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import { messageOfInput, startedRun, withCompletion } from '../../../../domain/runs/run-changes.ts'
import { LEASE_MS, type Lease } from '../../../../domain/session.ts'
import type { Started } from '../../../../ports/run-lease.ts'
import { runStatusCode } from '../codes.ts'
import type { Database } from '../../database.ts'
import { withCounted } from './session-outline.ts'
import { encodeTotals, findSession, totalsOf, type SessionRow } from './session-rows.ts'

const DAY_MS = 86_400_000

/** Whether this lease is the session's: *mine* in the protocol. */
export function isHeld(row: SessionRow | undefined, lease: Lease): row is SessionRow {
  return row?.live === 1 && row.generation === lease.generation && row.activeRun === lease.runId
}

/** The row of the session that this lease holds; throws `LeaseLost` if it does not. */
export function heldSession(database: Database, lease: Lease): SessionRow {
  const row = findSession(database, lease)
  if (!isHeld(row, lease)) throw new LeaseLost(lease.session, lease.generation)
  return row
}

/** Work is available: the sweeper looks now, or already does so earlier. */
export const woken = (row: SessionRow, now: number): SessionRow => ({ ...row, due: row.due ?? now })

/** The lease is given back. The generation grows, so that nothing late revives it. */
export const released = (row: SessionRow): SessionRow => ({
  ...row,
  leaseOwner: null,
  leaseUntil: null,
  generation: row.generation + 1,
})

/** The lease goes to `owner` until a lease's length from now. */
export const leased = (row: SessionRow, owner: string, now: number): SessionRow => ({
  ...row,
  leaseOwner: owner,
  leaseUntil: now + LEASE_MS,
  generation: row.generation + 1,
  due: now + LEASE_MS,
})

/** The lease that `leased` made. */
export const leaseOf = (row: SessionRow, owner: string, runId: string): Lease => ({
  tenant: row.tenant,
  session: row.session,
  generation: row.generation,
  owner,
  runId,
  until: row.leaseUntil ?? 0,
  head: row.head ?? undefined,
})

/** A run begins, pauses or ends: the session expires that much later. */
export const alive = (row: SessionRow, now: number): SessionRow => ({
  ...row,
  expiresAt: row.ttlDays === null ? null : now + row.ttlDays * DAY_MS,
})

/** Something that lists show has happened. Never moves back, whatever the clock does. */
export const active = (row: SessionRow, now: number): SessionRow => ({
  ...row,
  updatedAt: Math.max(row.updatedAt, now),
})

/** The latest run's state is the session's. */
export const withRun = (row: SessionRow, run: Run): SessionRow =>
  row.run === run.id ? { ...row, runStatus: runStatusCode(run.status) } : row

/** The session's totals count one more completion. */
export function counting(row: SessionRow, message: AssistantMessage): SessionRow {
  const { byAgent, ...totals } = totalsOf(row)
  const { usageByAgent, ...counted } = withCompletion({ ...totals, usageByAgent: byAgent }, message)
  return { ...row, totals: encodeTotals({ ...counted, byAgent: usageByAgent }) }
}

/** A counted session and its run at the start of that run, which `begin` makes. The caller stores both, and the message. */
export function atStart(
  row: SessionRow,
  queued: Run,
  {
    owner,
    now,
    begin = startedRun,
  }: { readonly owner: string; readonly now: number; readonly begin?: typeof startedRun },
): { row: SessionRow; started: Started } {
  const run = begin(queued, now)
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
