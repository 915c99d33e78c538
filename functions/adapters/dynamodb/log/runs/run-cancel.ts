import { TooltrailError } from '../../../../domain/errors.ts'
import { isEnded } from '../../../../domain/runs/run.ts'
import { isFree, type SessionKey } from '../../../../domain/session.ts'
import type { Cancelled } from '../../../../ports/run-inbox.ts'
import { textAt } from '../../attributes.ts'
import { all, is, present, together, type Change } from '../../expressions.ts'
import { headerKey, runKey } from '../../keys.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { headerOf, live, liveHeader, woken } from '../sessions/header-item.ts'
import { NO_WRITE } from '../sessions/header-write.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { readResolvedRun, type SessionRows } from '../sessions/session-rows.ts'
import { isQueued, removeSteering, runIdOf, runOf, runStatusOf, textOfEnd } from './run-item.ts'

/**
 * Cancels a queued run, or requests the holder of an active run to stop. Returns undefined if the session changed
 * between the read and the write: read again.
 */
export async function cancel(rows: SessionRows, key: SessionKey, runId: string): Promise<Cancelled | undefined> {
  const { table, bodies, clock } = rows
  const now = clock.now()
  const found = liveHeader(await table.read(headerKey(key)), key)
  const run = await readResolvedRun(rows, key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  const status = runStatusOf(run)
  const id = runIdOf(run)
  if (isEnded(status)) return { state: 'ended' }
  if (status === 'queued') {
    const [end = {}] = await bodies.store(key, [textOfEnd(id, { stopReason: 'cancelled' })])
    const ended: Change = { set: { status: 'cancelled', ended_at: now, ...end } }
    const header = await listedHeader(rows, key, found)
    const isLatest = textAt(header, 'tail') === id
    const list = isLatest ? relist(header, { runStatus: 'cancelled' }) : NO_WRITE
    const refusal = await table.write([
      {
        update: headerKey(key),
        when: all(live, isLatest ? is('tail', id) : present('tail'), ...list.when),
        change: together({ add: { queued: -1 } }, list.change),
      },
      ...list.actions,
      { update: runKey(key, id), when: isQueued, change: ended },
      ...removeSteering(key, await runOf(bodies, key, run, undefined)),
    ])
    return refusal === undefined ? { state: 'cancelled' } : undefined
  }
  const flagged = together(woken(now), { set: { cancel_run: id, cancel_reason: 'user' } })
  const updated = await table.update(headerKey(key), all(live, is('active_run', id)), flagged)
  return updated.done ? { state: 'cancelling', free: isFree(headerOf(updated.item), now) } : undefined
}
