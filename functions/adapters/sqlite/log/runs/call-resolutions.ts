import { resolvedCalls, type Resolution } from '../../../../domain/runs/call-resolution.ts'
import { withNewestRequest, type NewestRequest } from '../../../../domain/runs/run-changes.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { Resolved } from '../../../../ports/run-inbox.ts'
import { writeLog, type LogDependencies } from '../write.ts'
import { callsOfRun, updateToolMessage } from '../messages/message-rows.ts'
import { resolvedRun, saveRequest } from './run-rows.ts'
import { woken } from '../sessions/session-changes.ts'
import { liveSession, saveSession } from '../sessions/session-rows.ts'

/**
 * Stores results and decisions for waiting calls, all of them or none. If no call waits any more, the session becomes
 * due.
 */
export async function resolveCalls(
  dependencies: LogDependencies,
  key: SessionKey,
  runId: string,
  resolutions: readonly Resolution[],
  request: NewestRequest = {},
): Promise<Resolved> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = liveSession(database, key)
    const stored = resolvedRun(database, row.number, runId)
    if (stored === undefined) throw new TooltrailError('run_not_found', `session ${row.session} has no run ${runId}`)
    const { id } = stored.run
    const isActive = row.activeRun === id
    const run = { runId: id, calls: callsOfRun(database, stored.number), isOpen: isActive && row.cancelRun === null }
    const resolved = resolvedCalls(run, resolutions, now)
    for (const call of resolved) updateToolMessage(database, row.number, call)
    if (resolved.length > 0) saveRequest(database, stored, withNewestRequest(stored.run, request))
    const waiting = row.waiting - resolved.length
    const next = { ...row, waiting }
    saveSession(database, row, resolved.length > 0 && waiting === 0 ? woken(next, now) : next)
    return { stored: resolved.length, complete: !isActive || waiting === 0 }
  })
}
