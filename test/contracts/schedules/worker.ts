import { isBlocked, isFree } from '../../../functions/domain/session.ts'
import { holdStarted, holdTaken } from './holder.ts'
import type { Process } from './processes.ts'
import { isDue, isLeased, portsOf } from './harness.ts'
import type { Harness } from './harness.ts'

/** Rows removed per step. A small number gives a deletion several steps, which can be interrupted. */
const ROWS = 3

/**
 * Reads the header at each hint and each due time, and acts on it: takes or starts a run, continues a deletion, or removes the
 * session from the list.
 */
export async function work(harness: Harness, process: Process): Promise<void> {
  const ports = portsOf(harness, process.name)
  for (let attempt = 0; ; attempt++) {
    await process.at('look', () => harness.hints > 0 || (isDue(harness) && !(harness.fair && isLeased(harness))))
    if (!isDue(harness)) harness.hints--
    const header = await ports.lease.readHeader(harness.key)
    if (header === undefined) continue
    if (header.status === 'deleted') {
      if (isDue(harness)) await removeRest(harness, process)
      continue
    }
    if (!isFree(header, harness.stores.clock.now())) continue
    const owner = `${process.name}#${attempt}`
    const { generation } = header
    if (header.activeRun !== undefined && !isBlocked(header)) {
      const lease = await process.write({ name: 'take', generation }, () => ports.lease.take(header, owner))
      if (lease !== undefined) await holdTaken(harness, process, lease)
    } else if (header.activeRun === undefined && header.queued > 0) {
      const started = await process.write({ name: 'start', generation }, () => ports.lease.start(header, owner))
      if (started !== undefined) await holdStarted(harness, process, started)
    } else await process.write({ name: 'clear due' }, () => ports.janitor.clearDue(harness.key))
  }
}

/** Continues a deletion from its stored state. */
export async function removeRest(harness: Harness, process: Process): Promise<void> {
  const { deletion } = portsOf(harness, process.name)
  const state = await deletion.state(harness.key)
  if (state?.removed === true) {
    await process.write({ name: 'finish the deletion' }, () => deletion.finish(harness.key))
    return
  }
  for (let more = true; more;)
    ({ more } = await process.write({ name: 'remove rows' }, () => deletion.removeRows(harness.key, ROWS)))
  await process.write({ name: 'mark removed' }, () => deletion.markRemoved(harness.key, 0))
}
