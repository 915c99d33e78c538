import type { Delivery } from '../../../../functions/domain/delivery.ts'
import { must } from '../harness.ts'
import type { World } from './world.ts'

/** Maximum interval between two reads of the pending deliveries by a process, in milliseconds. */
const MAX_POLL_INTERVAL_MS = 600_000

/** Reads the rows, compares them with the rows read before, and remembers them. `by`: the process that has taken a step. */
export async function look(world: World, by: string): Promise<void> {
  const { outbox } = world.stores
  for (const run of world.runs) for (const id of [run, `${run}.1`]) world.ids.add(id)
  const rows = new Map<string, Delivery>()
  for (const id of world.ids) {
    const row = await outbox.read({ ...world.key, id })
    if (row !== undefined) rows.set(id, row)
  }
  world.latest = Math.max(world.latest, world.stores.clock.now())
  for (const fault of world.faults) must(fault, false)
  for (const [id, row] of rows) {
    checkRow(world, row)
    const before = world.rows.get(id)
    if (row.owner !== undefined && row.owner !== before?.owner) world.owners.set(row.owner, by)
    if (before !== undefined && before.mark !== row.mark) checkChange(world, before, row, by)
    if (before === undefined) must('nothing is added to a deleted session', world.deletion === 'none', id)
  }
  must('a deleted session keeps no delivery', world.deletion !== 'done' || rows.size === 0)
  if (world.deletion === 'none') for (const id of world.runs) must('an accepted run has its delivery', rows.has(id))
  for (const [id, messages] of world.thread)
    must('a run has one reply', messages.length <= 1, `${id} has ${messages.length}`)
  for (const [id, bodies] of world.received)
    must('a receiver gets equal bytes under one id', new Set(bodies).size === 1, `${id}: ${bodies.join(' | ')}`)
  world.rows = rows
}

function checkRow({ latest }: World, { id, status, due, owner }: Delivery): void {
  must('no delivery waits for ever', (due ?? 0) <= latest + MAX_POLL_INTERVAL_MS, `${id} is due at ${due}`)
  must('every pending delivery is due', (status === 'pending') === (due !== undefined), id)
  must('an ended delivery has no owner', status === 'pending' || owner === undefined, id)
}

function checkChange({ owners }: World, before: Delivery, now: Delivery, by: string): void {
  const { id } = now
  must('an ended delivery never changes', before.status === 'pending', id)
  must('the target never changes', JSON.stringify(before.target) === JSON.stringify(now.target), id)
  const isSaved = JSON.stringify(before.state) !== JSON.stringify(now.state) || now.status !== 'pending'
  const holder = owners.get(before.owner ?? '')
  must('only the holder of a claim stores its outcome', !isSaved || holder === by, `${id} of ${holder} by ${by}`)
}

/** Checks the final state, after the fair phase of the schedule. */
export async function checkEnd(world: World): Promise<void> {
  const { outbox } = world.stores
  const pending = await outbox.pending(world.key, 1_000)
  must('no delivery waits for ever', pending.length === 0, pending.map(({ id }) => id).join(', '))
  if (world.deletion !== 'none') {
    const { tenant } = world.key
    const listed = await outbox.list({ tenant, kind: 'callback', limit: 10 })
    return must('a deleted session keeps no delivery', listed.deliveries.length === 0)
  }
  for (const [id, { kind, status }] of world.rows) {
    must('each is delivered', status === 'delivered', `${id} is ${status}`)
    const arrived = kind === 'reply' ? world.thread.get(id) : world.received.get(id)
    must('each has arrived', (arrived?.length ?? 0) > 0, id)
    if (kind === 'callback' && !id.includes('.')) must('what is added is owed too', world.rows.has(`${id}.1`), id)
  }
}
