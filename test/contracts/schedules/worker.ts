import { isBlocked, isFree } from '../../../functions/domain/session.ts'
import { holdStarted, holdTaken } from './holder.ts'
import type { Process } from './processes.ts'
import { isDue, isLeased, portsOf } from './world.ts'
import type { World } from './world.ts'

/** Rows removed at once: few, so that a deletion has steps to be interrupted between. */
const ROWS = 3

/**
 * Looks whenever a hint comes or the session is due, and does what the header asks for: take, start, go on deleting, or take
 * the session off the list.
 */
export async function work(world: World, process: Process): Promise<void> {
  const ports = portsOf(world, process.name)
  for (let attempt = 0; ; attempt++) {
    await process.at('look', () => world.hints > 0 || (isDue(world) && !(world.fair && isLeased(world))))
    if (!isDue(world)) world.hints--
    const header = await ports.lease.look(world.key)
    if (header === undefined) continue
    if (header.status === 'deleted') {
      if (isDue(world)) await removeRest(world, process)
      continue
    }
    if (!isFree(header, world.stores.clock.now())) continue
    const owner = `${process.name}#${attempt}`
    const { generation } = header
    if (header.activeRun !== undefined && !isBlocked(header)) {
      const lease = await process.write({ name: 'take', generation }, () => ports.lease.take(header, owner))
      if (lease !== undefined) await holdTaken(world, process, lease)
    } else if (header.activeRun === undefined && header.queued > 0) {
      const started = await process.write({ name: 'start', generation }, () => ports.lease.start(header, owner))
      if (started !== undefined) await holdStarted(world, process, started)
    } else await process.write({ name: 'clear due' }, () => ports.janitor.clearDue(world.key))
  }
}

/** Goes on with a deletion from wherever it stands. */
export async function removeRest(world: World, process: Process): Promise<void> {
  const { deletion } = portsOf(world, process.name)
  const state = await deletion.state(world.key)
  if (state?.removed === true) {
    await process.write({ name: 'finish the deletion' }, () => deletion.finish(world.key))
    return
  }
  for (let more = true; more;)
    ({ more } = await process.write({ name: 'remove rows' }, () => deletion.removeRows(world.key, ROWS)))
  await process.write({ name: 'mark removed' }, () => deletion.markRemoved(world.key, 0))
}
