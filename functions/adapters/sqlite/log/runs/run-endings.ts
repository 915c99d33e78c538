import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { ToolMessage } from '../../../../domain/messages/message.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import { callAtEnd, endedRun, pausedRun, type RunEnd } from '../../../../domain/runs/run-changes.ts'
import type { Lease } from '../../../../domain/session.ts'
import type { UsageAccount } from '../../../../domain/usage/usage-count.ts'
import { transaction, type Database } from '../../database.ts'
import { writeLog, type LogDependencies } from '../write.ts'
import { saveContext } from '../sessions/contexts.ts'
import { isSameMessage } from '../messages/message-codec.ts'
import { callsClosedAt, findMessage, insertMessage, openCalls, updateToolMessage } from '../messages/message-rows.ts'
import { findRun, saveRun } from './run-rows.ts'
import {
  active,
  alive,
  counting,
  heldSession,
  isHeld,
  released,
  wasReleased,
  withRun,
} from '../sessions/session-changes.ts'
import { counted, withCounted } from '../sessions/session-outline.ts'
import { findLiveSession, saveSession, type SessionRow } from '../sessions/session-rows.ts'
import { countUsage } from '../usage/usage-rows.ts'

type Ended = { run: Run; closed: readonly ToolMessage[]; queued: boolean }

/** Pauses the run and releases the lease, if a call waits and no cancel was requested. */
export function pause({ database, clock }: LogDependencies, lease: Lease): Run | undefined {
  const now = clock.now()
  return transaction(database, () => {
    const before = pausedBefore(database, lease)
    if (before !== undefined) return before
    const row = heldSession(database, lease)
    if (row.waiting === 0 || row.cancelRun !== null) return undefined
    const stored = findRun(database, row.number, lease.runId)
    if (stored === undefined) throw new LeaseLost(lease.session, lease.generation)
    const waiting = openCalls(database, stored.number).filter(({ status }) => status === 'waiting')
    const { run } = saveRun(database, stored, pausedRun(stored.run, waiting, row.head ?? undefined, lease.generation))
    saveSession(database, row, withRun(alive({ ...released(row), paused: 1, due: null }, now), run))
    return run
  })
}

/** Returns the run if an earlier attempt of this holder has paused it, and the run has not changed since. */
function pausedBefore(database: Database, lease: Lease): Run | undefined {
  const row = findLiveSession(database, lease)
  const isPaused = wasReleased(row, lease) && row.paused === 1 && row.cancelRun === null
  return isPaused ? findRun(database, row.number, lease.runId)?.run : undefined
}

/** Ends the run with its last message, closes its open calls, and releases the lease. */
export function endRun(
  dependencies: LogDependencies,
  lease: Lease,
  end: RunEnd,
  account: UsageAccount = {},
): Promise<Ended | undefined> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = findLiveSession(database, lease)
    if (!isHeld(row, lease)) return endedBefore(database, row, lease, end)
    if (row.cancelRun !== null && end.outcome !== 'cancelled') return undefined
    const ended = storeEnd(database, row, lease, end, now)
    countUsage(database, lease, end.message, account)
    return ended
  })
}

function storeEnd(database: Database, row: SessionRow, lease: Lease, end: RunEnd, now: number): Ended {
  const { message } = end
  const stored = findRun(database, row.number, lease.runId)
  if (stored === undefined) throw new LeaseLost(lease.session, lease.generation)
  const session = message === undefined ? row : counting(withCounted(counted(database, row), [message]), message)
  if (message !== undefined) {
    if (row.head !== null && message.id <= row.head)
      throw new TooltrailError('storage_failed', `message id ${message.id} is not greater than the last, ${row.head}`)
    insertMessage(database, row.number, stored.number, message)
  }
  const closed = openCalls(database, stored.number).map((call) => callAtEnd(call, now))
  for (const call of closed) updateToolMessage(database, row.number, call)
  const { run } = saveRun(database, stored, endedRun(stored.run, end, now))
  const over: SessionRow = {
    ...released(session),
    activeRun: null,
    paused: 0,
    waiting: 0,
    head: message?.id ?? row.head,
    cancelRun: null,
    cancelReason: null,
    due: row.queued > 0 ? now : null,
  }
  saveSession(database, row, withRun(active(alive(over, now), now), run))
  if (end.context !== undefined) saveContext(database, row.number, end.context)
  return { run, closed, queued: row.queued > 0 }
}

/**
 * Returns the end that this holder has stored in an earlier attempt. Throws `LeaseLost` if there is none. An end with a
 * message is recognized by this message in the log. An end without a message is recognized if the lease was not
 * acquired again and no run is active.
 */
function endedBefore(database: Database, row: SessionRow | undefined, lease: Lease, end: RunEnd): Ended {
  const stored = row && findRun(database, row.number, lease.runId)
  if (row !== undefined && stored?.run.status === end.outcome) {
    const mine =
      end.message === undefined
        ? row.generation === lease.generation + 1 && row.activeRun === null
        : isSameMessage(findMessage(database, row.number, end.message.id), end.message)
    if (mine) {
      const closed = callsClosedAt(database, stored.number, stored.run.endedAt ?? 0)
      return { run: stored.run, closed, queued: row.queued > 0 }
    }
  }
  throw new LeaseLost(lease.session, lease.generation)
}
