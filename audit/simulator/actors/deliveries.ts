import type { Channel, Outcome, RunChannel, Work } from '../../../functions/delivery/channel.ts'
import type { Delivery } from '../../../functions/domain/delivery.ts'
import { changedDelivery, runOfDelivery } from '../../../functions/domain/delivery.ts'
import { inTime } from '../../../functions/ports/time-limited.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import type { Clock } from '../../../functions/ports/clock.ts'
import type { DeliveryChange, Outbox } from '../../../functions/ports/outbox.ts'
import { Violation } from '../../../test/contracts/schedules/harness.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import type { Outcome as Reply } from '../world/network.ts'
import type { Sessions, Watch } from './sessions.ts'
import type { Process } from '../world/timeline.ts'
import { pause } from '../world/virtual-globals.ts'
import { isFatal, must } from '../harness.ts'
import type { Harness } from '../harness.ts'

/** Milliseconds until a request to a receiver is retried, or until a run that has not ended is read again. */
const AGAIN_MS = 5_000
/** A request arrives within this time or never, even if its sender has died. */
const REQUEST_MS = 5_000
/**
 * Difference between clocks that a claim tolerates. If clocks differ by more, two processes may both believe that they
 * hold the claim.
 */
const CLOCKS_MS = 5_000
/** Texts of a reply, in this order. */
const WORDS = ['begins', 'ends'] as const

/** Pending deliveries of runs, and the deliveries that arrived at their receivers. */
export interface Deliveries {
  channelsOf(process: Process, ports: { readonly outbox: Outbox; readonly clock: Clock }): ReadonlyMap<string, Channel>
  /** Called after each request to the store, directly after its execution. */
  observe(call: string, args: readonly unknown[], reply: Reply): void
  /**
   * Called for each write of a request to the store, as soon as the write has landed. The sender of the request may
   * never get the response.
   */
  observeWritten(call: string, args: readonly unknown[]): void
  /**
   * Returns the id of the first delivery that is still pending although its run has ended. Undefined if there is none.
   */
  pending(): string | undefined
  /** Throws a `Violation` if the state of deliveries in the store disagrees with the texts that arrived. */
  check(ports: SessionPorts): Promise<void>
}

interface Pending {
  readonly key: SessionKey
  readonly kind: string
}

export function createDeliveries(harness: Harness, { all }: Sessions): Deliveries {
  const pending = new Map<string, Pending>()
  const over = new Set<string>()
  /** Received texts by id, in order. */
  const arrived = new Map<string, string[]>()
  const skew = harness.script.faults.reduce(
    (sum, one) => sum + (one.type === 'clock' ? Math.abs(one.milliseconds) : 0),
    0,
  )
  const watches = new Map(all.map((watch) => [watch.key.session, watch]))

  function arrive(id: string, what: string): void {
    const before = arrived.get(id) ?? []
    arrived.set(id, [...before, what])
    harness.note(`${id} has brought: ${what}`)
    if (pending.get(id)?.kind === 'callback')
      must(
        'a receiver gets the same under one id',
        before.every((one) => one === what),
        `${id}: ${what}`,
      )
    else if (skew <= CLOCKS_MS)
      must(
        'a reply says each thing once, in order',
        what === WORDS[before.length],
        `${id} ${[...before, what].join(' ')}`,
      )
  }

  /** Whether the delivery must be sent: its run has ended, and its session is live. */
  function isDueBy({ seen }: Watch, id: string): boolean {
    if (seen.header?.status !== 'live') return false
    const run = seen.runs.find((one) => one.id === runOfDelivery({ id }))
    const target = run?.mergedInto === undefined ? run : seen.runs.find((one) => one.id === run.mergedInto)
    return target !== undefined && isEnded(target.status)
  }

  function noteAdded({ id, ...key }: Delivery): void {
    pending.set(id, { key, kind: 'callback' })
  }

  function noteChanged({ id, status, session }: Delivery): void {
    must('what is over never changes', !over.has(id), id)
    must('only what kills whoever delivers it is given up', status !== 'failed' || isFatal(harness, session), id)
    if (status !== 'pending') over.add(id)
  }

  return {
    channelsOf: (process, { outbox, clock }) =>
      new Map([
        ['callback', callbacks({ harness, process, clock, arrive, arrived }, inTime({ outbox }).outbox)],
        ['reply', replies({ harness, process, clock, arrive, arrived })],
      ]),
    observe(call, [first, second], reply) {
      if (!('value' in reply)) return
      const { value } = reply
      if (call === 'inbox.enqueue') {
        const { delivery } = second as { readonly delivery?: { readonly kind: string } }
        const { runId } = value as { readonly runId: string }
        if (delivery !== undefined) pending.set(runId, { key: first as SessionKey, kind: delivery.kind })
      } else if (call === 'outbox.add' && value === true) noteAdded(first as Delivery)
      else if (call === 'outbox.change' && value !== undefined) noteChanged(value as Delivery)
    },
    observeWritten(call, [first, second]) {
      if (call === 'outbox.add') noteAdded(first as Delivery)
      else if (call === 'outbox.change') noteChanged(changedDelivery(first as Delivery, second as DeliveryChange))
    },
    pending() {
      for (const [id, { key }] of pending) {
        const watch = watches.get(key.session)
        if (!over.has(id) && watch !== undefined && isDueBy(watch, id)) return id
      }
      return undefined
    },
    async check({ outbox }) {
      for (const [id, { key, kind }] of pending) {
        const watch = watches.get(key.session)
        if (watch === undefined || !isDueBy(watch, id)) continue
        const row = await outbox.read({ ...key, id })
        if (row?.status === 'failed' && isFatal(harness, key.session)) continue
        must(
          'what a run owes is delivered',
          row?.status === 'delivered' && row.owner === undefined,
          `${id} is ${row?.status}`,
        )
        must(
          'what is delivered has arrived',
          (arrived.get(id)?.length ?? 0) >= (kind === 'reply' ? WORDS.length : 1),
          id,
        )
        if (kind === 'callback' && !id.includes('.')) must('what is added is owed, too', pending.has(`${id}.1`), id)
      }
    },
  }
}

interface Outside {
  readonly harness: Harness
  readonly process: Process
  readonly clock: Clock
  readonly arrive: (id: string, what: string) => void
  readonly arrived: ReadonlyMap<string, readonly string[]>
}

/**
 * Sends one text. Returns false if the receiver refuses the text. Rejects if no response arrives, or as soon as the
 * claim is lost. The outcome is then unknown.
 */
function post({ harness, process, arrive }: Outside, { delivery, signal }: Work, what: string): Promise<boolean> {
  const { id, session } = delivery
  const fault = harness.takeFault('receiver')
  const [there, back] = [1, 1].map((least) => least + 40 * harness.dice.next(`receiver ${process.name}`))
  harness.note(`${process.name} sends ${what} for ${id}${fault === undefined ? '' : `, which will be ${fault.how}`}`)
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    const late = fault?.how === 'late' ? fault.milliseconds % (REQUEST_MS - 100) : 0
    harness.timeline.after((there ?? 0) + late, undefined, () => {
      if (process.state === 'dead' && !process.leavesRequests) return
      try {
        if (fault?.how !== 'lost' && fault?.how !== 'busy') arrive(id, what)
      } catch (error) {
        harness.fail(error)
      }
      harness.strike(process, 'receiver', session)
      const isMute = fault?.how === 'lost' || fault?.how === 'silent'
      harness.timeline.after(isMute ? REQUEST_MS : (back ?? 0), process, () => {
        signal.removeEventListener('abort', stop)
        if (isMute) reject(new Error('the receiver does not answer'))
        else resolve(fault?.how !== 'busy')
      })
    })
  })
}

/**
 * Checks that the delivery's run has started. A violation ends the simulation directly. If the channel threw the
 * violation, the program would only count a failed delivery.
 */
function checkStarted({ harness }: Outside, { delivery: { id }, run: { status } }: Work): void {
  if (status === 'queued') harness.fail(new Violation('a run whose delivery begins has started', id))
}

/**
 * Creates a channel whose receiver ignores repeated ids. A request may therefore be sent more than once. Each run has
 * two deliveries here. With the real channel, only a run that pauses has two.
 */
function callbacks(outside: Outside, outbox: Outbox): RunChannel {
  const { clock } = outside
  return {
    begins: 'end',
    async deliver(work): Promise<Outcome> {
      const { delivery, run } = work
      const { tenant, session, id } = delivery
      checkStarted(outside, work)
      if (!isEnded(run.status)) return { retryAt: clock.now() + AGAIN_MS }
      const more = !id.includes('.')
      if (more) await outbox.add({ tenant, session, id: `${id}.1` }, { kind: 'callback', target: {} }, {})
      const body = (delivery.state['body'] as string | undefined) ?? `${run.status} by ${delivery.owner}`
      // The text is stored before it is sent. Otherwise the next worker that claims the delivery would build a
      // different text.
      if (delivery.state['body'] === undefined) await work.save({ body })
      const isTaken = await post(outside, work, body)
      return isTaken ? { status: 'delivered', more } : { retryAt: clock.now() + AGAIN_MS, more }
    },
  }
}

/**
 * Creates a channel that stores its intention to post a text, posts the text, and stores that the text was posted.
 * After a crash, the channel first reads which texts have arrived.
 */
function replies(outside: Outside): RunChannel {
  const { harness, process, clock, arrived } = outside
  return {
    begins: 'start',
    async deliver(work): Promise<Outcome> {
      checkStarted(outside, work)
      for (const word of WORDS) {
        if (saidOf(work).includes(word)) continue
        if (word === 'ends' && !(await hasEnded(work))) return { retryAt: clock.now() + AGAIN_MS }
        work.signal.throwIfAborted()
        if (work.delivery.state['intends'] === word) {
          await pause(process, 5 + 40 * harness.dice.next('reads the thread'), work.signal)
          const isThere = arrived.get(work.delivery.id)?.includes(word) === true
          await work.save(isThere ? { said: [...saidOf(work), word] } : { said: saidOf(work) })
          if (isThere) continue
        }
        await work.save({ said: saidOf(work), intends: word })
        const isTaken = await post(outside, work, word).catch((error: unknown) => {
          if (!work.signal.aborted) throw error
        })
        // The work was aborted, and the request may still be in flight. The claim is kept until the request has arrived
        // or is lost, even if the clock of the next worker differs. Otherwise, that worker could read too early, and
        // would find the text missing.
        if (isTaken === undefined) return { retryAt: clock.now() + REQUEST_MS + CLOCKS_MS, keepClaim: true }
        if (!isTaken) return { retryAt: clock.now() + AGAIN_MS, state: { said: saidOf(work) } }
        await work.save({ said: [...saidOf(work), word] })
      }
      return { status: 'delivered' }
    },
  }
}

const saidOf = ({ delivery }: Work): string[] => (delivery.state['said'] as string[] | undefined) ?? []

/** Follows the run until it ends or pauses. Returns whether it has ended. */
async function hasEnded(work: Work): Promise<boolean> {
  let status = work.run.status
  for await (const event of work.events()) if ('run' in event) ({ status } = event.run)
  return isEnded(status)
}
