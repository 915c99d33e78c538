import { LeaseLost } from '../../../domain/errors.ts'
import { nextId } from '../../../domain/ids.ts'
import type { Message } from '../../../domain/message.ts'
import type { Run } from '../../../domain/run.ts'
import { messageOfInput, startedRun } from '../../../domain/run-changes.ts'
import { LEASE_MS, type Lease } from '../../../domain/session.ts'
import { addUsage, NO_USAGE, type Usage } from '../../../domain/usage.ts'
import type { Started } from '../../../ports/run-lease.ts'
import { runStatusCode } from './codes.ts'
import type { Database } from '../database.ts'
import { encodeTotals, findSession, totalsOf, type SessionRow } from './session-rows.ts'

const DAY_MS = 86_400_000

/** Whether this lease is the session's: *mine* in the protocol. */
export function isHeld(row: SessionRow | undefined, lease: Lease): row is SessionRow {
  return row?.live === 1 && row.generation === lease.generation && row.activeRun === lease.runId
}

/** The row of the session that this lease holds; throws `LeaseLost` when it does not. */
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

/** Adds one stored answer to the run and to the session's totals; a leader's counts as a round. */
export function withFinalMessage(row: SessionRow, run: Run, message: Message): { row: SessionRow; run: Run } {
  if (message.role !== 'assistant') return { row, run }
  const rounds = message.parentToolCallId === undefined ? 1 : 0
  const { agent, usage = NO_USAGE } = message
  const totals = totalsOf(row)
  return {
    run: {
      ...run,
      rounds: run.rounds + rounds,
      usage: addUsage(run.usage, usage),
      usageByAgent: withUsage(run.usageByAgent, agent, usage),
    },
    row: {
      ...row,
      totals: encodeTotals({
        runs: totals.runs,
        rounds: totals.rounds + rounds,
        usage: addUsage(totals.usage, usage),
        byAgent: withUsage(totals.byAgent, agent, usage),
      }),
    },
  }
}

function withUsage(usages: Readonly<Record<string, Usage>>, agent: string, usage: Usage): Record<string, Usage> {
  const before = Object.hasOwn(usages, agent) ? usages[agent] : undefined
  return { ...usages, [agent]: addUsage(before ?? NO_USAGE, usage) }
}

/** A session and its run at the start of that run. The caller stores both, and the message. */
export function atStart(
  row: SessionRow,
  queued: Run,
  { owner, now }: { readonly owner: string; readonly now: number },
): { row: SessionRow; started: Started } {
  const run = startedRun(queued, now)
  const message = queued.input && messageOfInput(queued, run, nextId(row.head ?? undefined, now), now)
  const totals = totalsOf(row)
  const free: SessionRow = {
    ...row,
    activeRun: run.id,
    paused: 0,
    head: message?.id ?? row.head,
    floor: null,
    takeovers: 0,
    cancelRun: null,
    cancelReason: null,
    totals: encodeTotals({ ...totals, runs: totals.runs + 1 }),
  }
  const started = withRun(active(alive(leased(free, owner, now), now), now), run)
  const lease = leaseOf(started, owner, run.id)
  return { row: started, started: { lease, run, ...(message === undefined ? {} : { message }) } }
}
