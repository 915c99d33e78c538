import type { RunEvent } from '../../functions/domain/events.ts'
import type { Accepted } from './operations.ts'
import type { World } from './world.ts'

/** A follower that disconnects after some events, with the ids of the received events. */
export interface Follower {
  readonly runId: string
  readonly ids: string[]
}

const FOLLOW_MS = 400
const READ_MS = 3_000

export const idsOf = (events: readonly RunEvent[]): string[] =>
  events.flatMap((event) => ('id' in event && typeof event.id === 'string' ? [event.id] : []))

/** Reads all events of a run, or all events after one event. */
export async function readEvents({ harness }: World, runId: string, after?: string): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  const signal = AbortSignal.timeout(READ_MS)
  const options = after === undefined ? { signal } : { after, signal }
  for await (const event of harness.service.follow(harness.key, runId, options)) events.push(event)
  return events
}

/** Starts a follower of the active run or of another run, in a random process. */
export async function startFollower(world: World, accepted: Accepted): Promise<Follower | undefined> {
  const { dice, harness, living } = world
  const { activeRun } = await world.header()
  const others = [...accepted.values()]
  const runId = dice.chance(0.6) || others.length === 0 ? activeRun : dice.pick(others)
  if (runId === undefined) return undefined
  const ids: string[] = []
  const maxIds = 1 + Math.floor(dice.number() * 25)
  const stop = new AbortController()
  const { service } = dice.pick(living())
  const follow = async (): Promise<void> => {
    for await (const event of service.follow(harness.key, runId, { signal: stop.signal })) {
      ids.push(...idsOf([event]))
      if (ids.length >= maxIds) return stop.abort()
    }
  }
  // A failure is only counted, because the follower's process may have been killed.
  follow().catch(() => world.count('a follower failed'))
  setTimeout(() => stop.abort(), FOLLOW_MS)
  return { runId, ids }
}

/** Checks that a resumed follower got every event exactly once, before its disconnection or after its resumption. */
export async function checkFollower(world: World, { runId, ids }: Follower): Promise<void> {
  const last = ids.at(-1)
  if (last === undefined) return
  const whole = idsOf(await readEvents(world, runId))
  const resumed = idsOf(await readEvents(world, runId, last))
  const got = new Set([...ids, ...resumed])
  const missing = whole.filter((id) => !got.has(id))
  if (missing.length > 0) world.report(`a follower that resumes after ${kindOf(last)} misses ${kinds(missing)}`)
  const doubled = ids.filter((id, index) => ids.indexOf(id) !== index)
  if (doubled.length > 0) world.report(`a follower got events twice: ${kinds(doubled)}`)
  const extra = ids.filter((id) => !whole.includes(id) && !id.endsWith('run.queued'))
  if (extra.length > 0) world.report(`a follower got events that the log does not have: ${kinds(extra)}`)
}

/** Returns an event's id without the message id at its beginning. */
const kindOf = (id: string): string => id.slice(27)
export const kinds = (ids: readonly string[]): string => ids.map(kindOf).join(' ')
