import type { Channel, RunChannel, Work } from '../../../../functions/delivery/channel.ts'
import type { SessionKey } from '../../../../functions/domain/session.ts'
import type { RunEvent } from '../../../../functions/domain/events.ts'
import type { Outbox } from '../../../../functions/ports/outbox.ts'
import type { Process } from '../processes.ts'
import { part } from './world.ts'
import type { World } from './world.ts'

/** Delay before a request is retried, in milliseconds. */
const AGAIN_MS = 5_000
/** Maximum duration of a request, in milliseconds. */
const REQUEST_MS = 5_000

/** The channels of a process: one like callbacks, one like replies in a Slack thread. */
export const channelsOf = (world: World, process: Process, outbox: Outbox): ReadonlyMap<string, Channel> =>
  new Map([
    ['callback', callbacks(world, process, outbox)],
    ['reply', replies(world, process)],
  ])

/**
 * Sends a request, which may or may not arrive. The request may arrive seconds later, even if its sender has died or
 * given up. Rejects if the outcome is unknown. Returns false if the request has not arrived.
 */
function post(world: World, process: Process, { delivery, signal }: Work, arrive: () => void): Promise<boolean> {
  const outcome = world.outcomes.shift() ?? 'done'
  world.trace.push(`  the request for ${delivery.id}: ${outcome}`)
  const request = (): void => {
    if (world.requests.delete(request) && (outcome === 'done' || outcome === 'silent')) arrive()
  }
  world.requests.add(request)
  return part(world, process, async (step) => {
    await step.at(`the request arrives for ${delivery.id.slice(20)}`)
    signal.throwIfAborted()
    request()
    await step.at(`the answer for ${delivery.id.slice(20)}`)
    signal.throwIfAborted()
    if (outcome === 'silent' || outcome === 'ignored') throw new Error('no answer')
    return outcome === 'done'
  })
}

/** Checks a promise to channels: when a delivery begins, its run has started. */
function checkWork(world: World, { delivery, run }: Work): void {
  if (run.status === 'queued') world.faults.push(`a run whose delivery begins has started: ${delivery.id}`)
}

/**
 * A channel whose receiver removes duplicates by id, so a request may be repeated. Each run has a second delivery, as if the run
 * had paused.
 */
function callbacks(world: World, process: Process, outbox: Outbox): RunChannel {
  return {
    begins: 'end',
    async deliver(work) {
      const { delivery, run } = work
      const { tenant, session, id } = delivery
      checkWork(world, work)
      if (run.status !== 'completed') return { retryAt: world.stores.clock.now() + AGAIN_MS }
      const more = !id.includes('.')
      if (more) await outbox.add({ tenant, session, id: `${id}.1` }, { kind: 'callback', target: {} }, {})
      if (delivery.state['body'] === undefined) await work.save({ body: `${id} ${run.status} by ${delivery.owner}` })
      const body = JSON.stringify(work.delivery.state['body'])
      const arrived = await post(world, process, work, () => {
        world.received.set(id, [...(world.received.get(id) ?? []), body])
      })
      if (!arrived) return { retryAt: world.stores.clock.now() + AGAIN_MS, more }
      return { status: 'delivered', more }
    },
  }
}

/**
 * A channel that records the intended message, posts it, and records the post. After a crash, the channel first searches the
 * thread for the message.
 */
function replies(world: World, process: Process): RunChannel {
  return {
    begins: 'start',
    async deliver(work) {
      const { id } = work.delivery
      checkWork(world, work)
      if (work.delivery.state['intended'] === true) {
        await part(world, process, (step) => step.at('read the thread'))
        work.signal.throwIfAborted()
        await work.save(world.thread.has(id) ? { posted: true } : {})
      }
      for await (const _event of work.events());
      work.signal.throwIfAborted()
      if (work.delivery.state['posted'] === true) return { status: 'delivered' }
      await work.save({ intended: true })
      const arrived = await post(world, process, work, () => {
        world.thread.set(id, [...(world.thread.get(id) ?? []), String(work.delivery.owner)])
      }).catch((error: unknown) => {
        if (!work.signal.aborted) throw error
      })
      // The work was aborted, and the request may be in flight. The thread is not read before the request has arrived.
      if (arrived === undefined) return { retryAt: world.stores.clock.now() + REQUEST_MS, keepClaim: true }
      if (!arrived) return { retryAt: world.stores.clock.now() + AGAIN_MS, state: {} }
      return { status: 'delivered', state: { posted: true } }
    },
  }
}

/** Creates a follower. The follower yields the end of a run, or nothing if the signal aborts first. */
export const followerOf = (world: World, process: Process) =>
  async function* (
    key: SessionKey,
    runId: string,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncIterable<RunEvent> {
    await part(world, process, (step) => step.at('follows', () => world.ended.has(runId) || signal.aborted))
    const run = signal.aborted ? undefined : await world.stores.reader.run(key, runId)
    if (run !== undefined) yield { type: 'run.completed', id: `${runId}:run.completed`, runId, run }
  }
