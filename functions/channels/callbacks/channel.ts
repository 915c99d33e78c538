import { definedFields } from '../../domain/defined-fields.ts'
import type { Outcome, RunChannel, Work } from '../../delivery/channel.ts'
import { runOfDelivery } from '../../domain/delivery.ts'
import type { Delivery } from '../../domain/delivery.ts'
import { nextId } from '../../domain/ids.ts'
import { isEnded, type Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Outbox } from '../../ports/outbox.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { attempt, type Sending } from './attempt.ts'
import {
  asJson,
  CALLBACK,
  originOf,
  stateOf,
  targetOf,
  withAttempt,
  type Attempt,
  type CallbackState,
} from './state.ts'

/**
 * Wait after each failed attempt, in milliseconds. Together, the waits take more than a day. If the attempt after the
 * last wait fails too, the callback has failed.
 */
const RETRY_MS: readonly number[] = [5, 30, 120, 600, 3_600, 14_400, 43_200, 43_200].map((seconds) => seconds * 1_000)
/** Largest random share added to a wait, so that a receiver that was down does not get all requests at once. */
const JITTER = 0.2
/** Limit of a body stored in the row, in bytes of UTF-8. A longer body is stored as an object. */
const INLINE_BYTES = 24 * 1024
/** Polling interval for a run that has not ended. For a paused run, it grows up to one hour. */
const POLL_INTERVAL_MS = 60_000
/**
 * Delay of a callback that waits for the run's previous callback, counted from the next attempt of the previous one.
 */
const AFTER_OTHER_MS = 1_000
const MAX_POLL_INTERVAL_MS = 3_600_000
/** Limit of concurrent requests of one process to one receiver, for each tenant. A receiver may take 15 s for each request. */
const MAX_OPEN_REQUESTS = 50
/** Time after which a callback is retried if its receiver had `MAX_OPEN_REQUESTS` open requests. */
const PLACE_RETRY_MS = 5_000
/** The status of a receiver that wants no more callbacks (Standard Webhooks). */
const GONE = 410

/** The address of a callback and the secret that signs it. */
export interface CallbackSettings {
  /** If absent, each request names the address of its callback. */
  readonly url?: string
  readonly secret: string
}

export interface CallbackDependencies {
  readonly outbox: Outbox
  readonly outputs: OutputStore
  readonly clock: Clock
  /** Reads the current settings of this name; undefined if they no longer exist. */
  readonly settings: (name: string) => Promise<CallbackSettings | undefined>
  /** Builds the body for the run's end, or for one of its pauses. `pause`: the index of the pause, from 0. */
  readonly render: (key: SessionKey, run: Run, pause?: number) => Promise<string>
  readonly allowedHosts: readonly string[]
  readonly lookup?: Sending['lookup']
}

/**
 * Notifies a receiver when a run ends and when it pauses. Each callback has a fixed id and body. It is sent until the
 * receiver has accepted it, so it may arrive more than once. Receivers deduplicate by the id.
 */
export function createCallbackChannel(dependencies: CallbackDependencies): RunChannel {
  const { clock } = dependencies
  const open = new Map<string, number>()
  return {
    begins: 'end',
    async deliver(work) {
      const { delivery, run } = work
      if (stateOf(delivery).body !== undefined) return sendInOrder(dependencies, work, open)
      const added = await addPauses(dependencies, work)
      if (!isEnded(run.status)) {
        const waits = run.status === 'paused' ? clock.now() - delivery.createdAt : 0
        const retryAt = clock.now() + Math.min(Math.max(POLL_INTERVAL_MS, waits), MAX_POLL_INTERVAL_MS)
        return { retryAt, ...(added ? { more: true } : {}) }
      }
      const body = await keepBody(dependencies, delivery, await dependencies.render(delivery, run))
      await work.save(asJson({ ...stateOf(work.delivery), body }))
      const outcome = await sendInOrder(dependencies, work, open)
      return { ...outcome, ...(added ? { more: true } : {}) }
    },
  }
}

/**
 * Adds a separate callback for each pause, in order, before the callback for the run's end. A steered input gets no
 * callbacks for pauses before its acceptance. At such a pause, the log's last message is older than the input.
 */
async function addPauses(dependencies: CallbackDependencies, work: Work): Promise<boolean> {
  const { outbox, render } = dependencies
  const { delivery, run } = work
  const { pauses = 0 } = stateOf(delivery)
  const notices = (run.notices ?? []).filter(({ type }) => type === 'run.paused')
  const accepted = runOfDelivery(delivery)
  const isSteered = accepted !== run.id
  const all = notices.length
  let added = false
  for (let pause = pauses; pause < all; pause++) {
    if (isSteered && (notices[pause]?.after ?? '') < accepted) continue
    added = true
    const id = `${delivery.id}.${pause + 1}`
    const body = await keepBody(dependencies, delivery, await render(delivery, run, pause))
    const { tenant, session, target } = delivery
    await outbox.add({ tenant, session, id }, { kind: CALLBACK, target }, asJson({ body }))
    await work.save(asJson({ ...stateOf(work.delivery), pauses: pause + 1 }))
  }
  return added
}

/**
 * Stores the body as an object before the row that names it. A crash between the two writes leaves an object that is
 * deleted with its session.
 */
async function keepBody(
  { outputs, clock }: CallbackDependencies,
  { tenant, session }: SessionKey,
  text: string,
): Promise<NonNullable<CallbackState['body']>> {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= INLINE_BYTES) return { text }
  const object = `${nextId(undefined, clock.now())}.callback`
  await outputs.put({ tenant, session }, object, bytes, 'application/json')
  return { object }
}

/**
 * Sends a callback when the run's previous callback is finished. So the callbacks of a run keep the order of its
 * events.
 */
async function sendInOrder(
  dependencies: CallbackDependencies,
  work: Work,
  open: Map<string, number>,
): Promise<Outcome> {
  const { clock, outbox } = dependencies
  const id = idBefore(work.delivery)
  const before = id === undefined ? undefined : await outbox.read({ ...work.delivery, id })
  if (before?.status !== 'pending') return send(dependencies, work, open)
  const now = clock.now()
  const retriedAt = before.owner === undefined ? (before.due ?? now) : now
  return { retryAt: Math.max(now, retriedAt) + AFTER_OTHER_MS }
}

/** Returns the id of the callback for the run's previous pause; undefined if there is none. */
function idBefore(delivery: Delivery): string | undefined {
  const [, pause] = delivery.id.split('.')
  const before = pause === undefined ? (stateOf(delivery).pauses ?? 0) : Number(pause) - 1
  return before === 0 ? undefined : `${runOfDelivery(delivery)}.${before}`
}

/**
 * Sends the callback. If too many requests to its receiver are open, the callback waits. That wait does not count as an
 * attempt.
 */
async function send(dependencies: CallbackDependencies, work: Work, open: Map<string, number>): Promise<Outcome> {
  const { settings, clock, outputs } = dependencies
  const { delivery, signal } = work
  const { body, tries = 0, ...kept } = stateOf(delivery)
  const { name, url, refused } = targetOf(delivery)
  const found = await settings(name)
  const to = url ?? found?.url
  const over = (last: Attempt): CallbackState => withAttempt({ ...kept, ...definedFields({ body }) }, last)
  if (refused !== undefined || found === undefined || to === undefined || body === undefined) {
    const error = refused ?? `there is no callback ${name} in the settings any more`
    return { status: 'failed', state: asJson(over({ at: clock.now(), error })) }
  }
  const text = 'text' in body ? body.text : Buffer.from(await outputs.read(delivery, body.object)).toString()
  const { secret } = found
  const receiver = JSON.stringify([delivery.tenant, originOf(to)])
  const others = open.get(receiver) ?? 0
  if (others >= MAX_OPEN_REQUESTS) return { retryAt: clock.now() + PLACE_RETRY_MS }
  open.set(receiver, others + 1)
  const sending = { ...dependencies, id: delivery.id, url: to, secret, body: text, now: clock.now(), signal }
  const last = await attempt(sending).finally(() => leave(open, receiver))
  const state = asJson({ ...over(last), tries: tries + 1 })
  if (last.status !== undefined && last.status >= 200 && last.status < 300) return { status: 'delivered', state }
  const wait = RETRY_MS[tries]
  if (last.status === GONE || wait === undefined) return { status: 'failed', state }
  return { retryAt: clock.now() + wait + Math.floor(wait * JITTER * Math.random()), state }
}

function leave(open: Map<string, number>, receiver: string): void {
  const others = (open.get(receiver) ?? 1) - 1
  if (others === 0) open.delete(receiver)
  else open.set(receiver, others)
}
