import { definedFields } from '../domain/defined-fields.ts'
import { inTime } from '../ports/time-limited.ts'
import { isGivenUp, isSuspect, MAX_STARTS, runOfDelivery, waitAfterDeath } from '../domain/delivery.ts'
import type { Delivery, DeliveryKey } from '../domain/delivery.ts'
import { isTerminal, type RunEvent } from '../domain/events.ts'
import type { Run } from '../domain/runs/run.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Clock } from '../ports/clock.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { Logger } from '../ports/logger.ts'
import type { Outbox } from '../ports/outbox.ts'
import { pollUntil } from '../ports/poll-until.ts'
import type { Channel, Outcome } from './channel.ts'
import { claimDelivery, ClaimLost, isUnclaimed, type Claim } from './claim.ts'
import { dueOf } from './due-of-session.ts'
import { isFull, receiverOf, type InFlight } from './in-flight.ts'
import { createDeliverySlots, type DeliverySlots } from './delivery-slots.ts'

/** Milliseconds between two looks at a delivery of a run of this process that another process still has. */
const TAKEN_MS = 1_000
/** Looks: together they take longer than the claim of a process that died. */
const MAX_CLAIM_POLLS = 75
/** Milliseconds until the next look at a delivery whose run has not begun, or whose session is being deleted. */
const QUEUED_MS = 90_000
/** After a failure that the channel does not know: milliseconds, doubled each time, and how often. */
const FIRST_RETRY_MS = 5_000
const MAX_RETRY_MS = 600_000
/** A day: what was acknowledged is not given up because the other side is down for some hours. */
const MAX_FAILURES = 150
/** A sweep finds what is due later than this, in milliseconds, without a hint of its own. */
const SOON_MS = 60_000

export interface DriverDependencies {
  readonly outbox: Outbox
  readonly reader: Pick<LogReader, 'run'>
  readonly follow: (
    key: SessionKey,
    runId: string,
    options: { readonly signal: AbortSignal },
  ) => AsyncIterable<RunEvent>
  readonly channels: ReadonlyMap<string, Channel>
  readonly clock: Clock
  readonly logger: Logger
  /** Sends a hint in so many milliseconds; left out where what is due is looked for every second. */
  readonly hintLater?: (key: SessionKey, milliseconds: number) => Promise<void>
  /** Told of each delivery that has failed for good. */
  readonly noteFailure?: (delivery: Delivery) => void
}

export interface DeliveryDriver {
  /** Takes note of an event of a run that this process executes. Never waits. */
  observe(key: SessionKey, event: RunEvent): void
  /** Takes up what is due of a session. Rejects when the store fails; what it began goes on after it has resolved. */
  serve(key: SessionKey): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
  /** Stops what is under way, and leaves it to other processes. Resolves with the sessions of what was left. */
  handOff(): Promise<readonly SessionKey[]>
  /** Accepts work again. */
  resume(): void
}

/** Delivers what runs owe to channels: those of this process's runs with their events, others when they are due. */
export function createDeliveryDriver(given: DriverDependencies): DeliveryDriver {
  const dependencies = { ...inTime(given), slots: createDeliverySlots(given.clock) }
  const { channels, logger } = dependencies
  const inFlight = new Map<string, InFlight>()
  let stopping = new AbortController()

  function begin(key: DeliveryKey, to?: string): void {
    if (stopping.signal.aborted) return
    const name = `${key.tenant}/${key.session}/${key.id}`
    const current = inFlight.get(name)
    if (current !== undefined) return void (current.repeats ||= to === undefined)
    if (to !== undefined && isFull(inFlight, to)) return
    const work = async (): Promise<void> => {
      try {
        do {
          entry.repeats = false
          if (await deliverInSlot(dependencies, key, to === undefined ? 'by_run' : 'by_hint', stopping.signal))
            await serve(key)
        } while (entry.repeats && !stopping.signal.aborted)
      } catch (error) {
        // The row is still there: a sweep will find it.
        logger.error('delivering failed', error, { ...key })
      } finally {
        inFlight.delete(name)
      }
    }
    const entry = { key, repeats: false, done: Promise.resolve().then(work), ...definedFields({ to }) }
    inFlight.set(name, entry)
  }

  async function serve(key: SessionKey): Promise<void> {
    for await (const delivery of dueOf(dependencies, key)) {
      begin(delivery, receiverOf(channels, delivery))
      if (isFull(inFlight)) return
    }
  }

  const allDone = async (): Promise<void> => {
    while (inFlight.size > 0) await Promise.allSettled([...inFlight.values()].map(({ done }) => done))
  }

  return {
    observe(key, event) {
      if (!('run' in event) || event.run.delivery === undefined) return
      const begins = channels.get(event.run.delivery)?.begins
      const isStart = event.type === 'run.started' || event.type === 'run.resumed'
      if (!(begins === 'start' ? isStart : begins === 'end' && isTerminal(event))) return
      begin({ tenant: key.tenant, session: key.session, id: event.run.id })
    },
    serve,
    idle: allDone,
    async handOff() {
      stopping.abort()
      const keys = [...inFlight.values()].map(({ key: { tenant, session } }) => ({ tenant, session }))
      await allDone()
      return keys
    },
    resume: () => void (stopping = new AbortController()),
  }
}

/** Takes a turn for what can be claimed now, and delivers it. Returns whether more has been added to the outbox. */
async function deliverInSlot(
  dependencies: DriverDependencies & { readonly slots: DeliverySlots },
  key: DeliveryKey,
  how: 'by_run' | 'by_hint',
  stopping: AbortSignal,
): Promise<boolean> {
  const first = await unclaimed(dependencies, key, how, stopping)
  if (first === undefined) return false
  if (isGivenUp(first)) await giveUp(dependencies, first)
  else if (!(await isPutOff(dependencies, first))) {
    const slot = await dependencies.slots.take(isSuspect(first), stopping)
    try {
      const seen = slot?.hasWaited === true ? await unclaimed(dependencies, key, 'by_hint', stopping) : first
      return slot !== undefined && seen !== undefined && (await deliverOnce(dependencies, seen, stopping))
    } finally {
      slot?.end()
    }
  }
  return false
}

/** Ends what each of so many has left that whoever begins it seems to die of it. */
async function giveUp({ outbox, channels, logger, noteFailure }: DriverDependencies, seen: Delivery): Promise<void> {
  const reason = `given up: ${MAX_STARTS} times in a row whoever delivered it did not come back`
  const { tenant, session, id, kind } = seen
  const state = channels.get(kind)?.givenUp?.(seen, reason) ?? seen.state
  const over = { status: 'failed', state, owner: null, due: null, hinted: null, begun: null } as const
  const failed = await outbox.change(seen, over)
  if (failed === undefined) return
  logger.error('a delivery has failed', new Error(reason), { tenant, session, delivery: id, kind })
  noteFailure?.(failed)
}

/** Whether it waits first, because whoever had it did not come back, nor the one before. */
async function isPutOff({ outbox, clock, logger }: DriverDependencies, seen: Delivery): Promise<boolean> {
  const wait = waitAfterDeath(seen)
  if (wait === 0) return false
  const { tenant, session, id, begun } = seen
  logger.warn('nobody who began a delivery came back', { tenant, session, delivery: id, begun })
  await outbox.change(seen, { owner: null, hinted: null, due: clock.now() + wait })
  return true
}

/** Claims a delivery and brings it as far as it goes now. Returns whether more has been added to the outbox. */
async function deliverOnce(dependencies: DriverDependencies, seen: Delivery, stopping: AbortSignal): Promise<boolean> {
  const { outbox, channels, clock } = dependencies
  const channel = channels.get(seen.kind)
  if (channel === undefined) {
    await outbox.change(seen, { due: clock.now() + MAX_RETRY_MS, owner: null, hinted: null })
    return false
  }
  const claim = await claimDelivery(dependencies, seen, stopping)
  if (claim === undefined) return false
  try {
    const outcome = await outcomeOf(dependencies, claim, channel)
    await settle(claim, outcome)
    if ('status' in outcome && outcome.status === 'failed') dependencies.noteFailure?.(claim.delivery)
    // What a stop leaves for now gets its hint from whoever stops.
    if ('retryAt' in outcome && (!stopping.aborted || outcome.retryAt > dependencies.clock.now()))
      await hintSoon(dependencies, claim.delivery, outcome.retryAt)
    return outcome.more === true
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    return false
  } finally {
    await claim.end()
  }
}

/** The delivery if it can be claimed now. One of a run that is executed here is waited for. */
async function unclaimed(
  { outbox, clock }: DriverDependencies,
  key: DeliveryKey,
  how: 'by_run' | 'by_hint',
  stopping: AbortSignal,
): Promise<Delivery | undefined> {
  let polls = 0
  try {
    const { found } = await pollUntil(clock, { everyMs: TAKEN_MS, signal: stopping }, async () => {
      const delivery = await outbox.read(key)
      if (delivery === undefined || delivery.status !== 'pending') return { found: undefined }
      if (isUnclaimed(delivery, clock.now())) return { found: delivery }
      return how === 'by_hint' || ++polls === MAX_CLAIM_POLLS ? { found: undefined } : undefined
    })
    return found
  } catch (error) {
    if (stopping.aborted) return undefined
    throw error
  }
}

/** The run as it is now that the delivery is claimed; or the one that it was merged into. */
async function runOf({ reader }: DriverDependencies, delivery: Delivery): Promise<Run | undefined> {
  const run = await reader.run(delivery, runOfDelivery(delivery))
  return run?.mergedInto === undefined ? run : reader.run(delivery, run.mergedInto)
}

/** What comes of it now; nothing while its run has not started. */
async function deliver(dependencies: DriverDependencies, claim: Claim, channel: Channel): Promise<Outcome> {
  const { signal } = claim
  if (channel.begins === 'hint') return channel.deliver({ delivery: claim.delivery, signal })
  const run = await runOf(dependencies, claim.delivery)
  if (run === undefined || run.status === 'queued') return { retryAt: dependencies.clock.now() + QUEUED_MS }
  return channel.deliver({
    get delivery() {
      return claim.delivery
    },
    run,
    signal,
    events: () => dependencies.follow(claim.delivery, run.id, { signal }),
    save: (state) => claim.change({ state }),
  })
}

type End = Outcome & { readonly failures?: number }

async function outcomeOf(dependencies: DriverDependencies, claim: Claim, channel: Channel): Promise<End> {
  const { clock, logger } = dependencies
  const { signal } = claim
  try {
    return await deliver(dependencies, claim, channel)
  } catch (error) {
    if (error instanceof ClaimLost) throw error
    // It was told to stop: another process goes on at once.
    if (signal.aborted) return { retryAt: clock.now() }
    const failures = claim.delivery.failures + 1
    const { tenant, session, id, kind } = claim.delivery
    logger.error('a channel failed', error, { tenant, session, delivery: id, kind, failures })
    if (failures >= MAX_FAILURES) {
      const state = channel.givenUp?.(claim.delivery, `given up: it failed ${failures} times in a row, see the log`)
      return { status: 'failed', failures, ...definedFields({ state }) }
    }
    return { retryAt: clock.now() + Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS), failures }
  }
}

/** Has somebody look as soon as it is due, where the next sweep would be late. */
async function hintSoon(
  { hintLater, clock, logger }: DriverDependencies,
  delivery: Delivery,
  at: number,
): Promise<void> {
  const wait = at - clock.now()
  if (hintLater === undefined || wait >= SOON_MS) return
  const { tenant, session } = delivery
  try {
    await hintLater({ tenant, session }, Math.max(0, wait))
  } catch (error) {
    logger.warn('a hint for later was not sent: a sweep will find the delivery', {
      tenant,
      session,
      error: String(error),
    })
  }
}

async function settle(claim: Claim, end: End): Promise<void> {
  const { failures = 0, state } = end
  const kept = { hinted: null, failures, begun: null, ...definedFields({ state }) }
  if ('status' in end) await claim.change({ ...kept, owner: null, status: end.status, due: null })
  // A claim that is not given back ends with its time.
  else await claim.change({ ...kept, ...(end.keepClaim === true ? {} : { owner: null }), due: end.retryAt })
}
