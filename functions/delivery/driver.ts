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
import { giveUp } from './give-up.ts'
import { isFull, receiverOf, type InFlight } from './in-flight.ts'
import { createDeliverySlots, type DeliverySlots } from './delivery-slots.ts'
import { isLeft, isServed, leaveToOthers, postponeUnserved } from './unserved.ts'

/** Polling interval while another process still has the claim on a delivery of a run that this process executes. */
const TAKEN_MS = 1_000
/** Maximum number of polls for a claim. Together, the polls last longer than the claim of a crashed process. */
const MAX_CLAIM_POLLS = 75
/** Retry interval while the run of a delivery has not started, or while its session is being deleted. */
const QUEUED_MS = 90_000
/** Backoff after an unknown failure of a channel: the first wait and the longest wait. The wait doubles after each failure. */
const FIRST_RETRY_MS = 5_000
const MAX_RETRY_MS = 600_000
/** Number of failures, over about a day, before a delivery is abandoned. A receiver may be down for some hours. */
const MAX_FAILURES = 150
/** A delivery due within this time gets its own hint; a sweep finds later ones. */
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
  /** Sends a hint after this many milliseconds. Omitted if due deliveries are polled every second. */
  readonly hintLater?: (key: SessionKey, milliseconds: number) => Promise<void>
  /** Called for each delivery that has failed permanently. */
  readonly noteFailure?: (delivery: Delivery) => void
}

export interface DeliveryDriver {
  /** Observes an event of a run that this process executes. Never waits. */
  observe(key: SessionKey, event: RunEvent): void
  /**
   * Starts the due deliveries of a session. Rejects if the store fails. The started deliveries continue after the
   * promise resolves.
   */
  serve(key: SessionKey): Promise<void>
  /** Whether a due delivery is left to other processes. Postpones it if no process has claimed it for a while. */
  isLeft(delivery: Delivery): Promise<boolean>
  /** Resolves when no delivery is in flight. */
  idle(): Promise<void>
  /** Stops the deliveries in flight and leaves them to other processes. Resolves with their sessions. */
  handOff(): Promise<readonly SessionKey[]>
  /** Accepts work again after `handOff`. */
  resume(): void
}

/**
 * Creates the driver, which delivers rows of the outbox. If a run executes in this process, an event of the run starts
 * its delivery (`begins` of the channel). Other rows are delivered when they are due.
 */
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
        // The row of the delivery still exists, so a sweep will find it.
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
      const run = runToDeliver(channels, event)
      if (run !== undefined) begin({ tenant: key.tenant, session: key.session, id: run.id })
    },
    serve,
    isLeft: (delivery) => isLeft(dependencies, delivery),
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

/** Returns the run of an event if its delivery starts with this event. The process that executes the run starts the delivery. */
function runToDeliver(channels: ReadonlyMap<string, Channel>, event: RunEvent): Run | undefined {
  if (!('run' in event) || event.run.delivery === undefined) return undefined
  const begins = channels.get(event.run.delivery)?.begins
  const isStart = event.type === 'run.started' || event.type === 'run.resumed'
  return (begins === 'start' ? isStart : begins === 'end' && isTerminal(event)) ? event.run : undefined
}

/** Waits for a slot, then claims the delivery and advances it. Returns whether deliveries were added to the outbox. */
async function deliverInSlot(
  dependencies: DriverDependencies & { readonly slots: DeliverySlots },
  key: DeliveryKey,
  how: 'by_run' | 'by_hint',
  stopping: AbortSignal,
): Promise<boolean> {
  const first = await unclaimed(dependencies, key, how, stopping)
  if (first === undefined) return false
  const served = await isServed(dependencies, first)
  if (isGivenUp(first)) await giveUp(dependencies, first, `abandoned: its worker crashed ${MAX_STARTS} times in a row`)
  else if (!served) await leave(dependencies, first)
  else if (!(await isPostponed(dependencies, first))) {
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

/**
 * Leaves a delivery to processes that have its settings. If hints start deliveries, all processes have equal settings,
 * so a hinted delivery is postponed. Otherwise each process sweeps, so the delivery becomes due for other processes.
 */
const leave = (dependencies: DriverDependencies, seen: Delivery): Promise<void> =>
  dependencies.hintLater !== undefined && seen.hinted === true
    ? postponeUnserved(dependencies, seen)
    : leaveToOthers(dependencies, seen)

/** Postpones a delivery if the last two processes that worked on it crashed. Returns whether it was postponed. */
async function isPostponed({ outbox, clock, logger }: DriverDependencies, seen: Delivery): Promise<boolean> {
  const wait = waitAfterDeath(seen)
  if (wait === 0) return false
  const { tenant, session, id, begun } = seen
  logger.warn('the workers of a delivery crashed: it is postponed', { tenant, session, delivery: id, begun })
  await outbox.change(seen, { owner: null, hinted: null, due: clock.now() + wait })
  return true
}

/** Claims a delivery and advances it. Returns whether deliveries were added to the outbox. */
async function deliverOnce(dependencies: DriverDependencies, seen: Delivery, stopping: AbortSignal): Promise<boolean> {
  const channel = dependencies.channels.get(seen.kind)
  const claim = channel && (await claimDelivery(dependencies, seen, stopping))
  if (channel === undefined || claim === undefined) return false
  try {
    const outcome = await outcomeOf(dependencies, claim, channel)
    await settle(claim, outcome)
    if ('status' in outcome && outcome.status === 'failed') dependencies.noteFailure?.(claim.delivery)
    // If this process is stopping and the delivery is due now, the code that stops the process sends the hint.
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

/**
 * Returns the delivery if it can be claimed now. If its run executes here, waits until another process's claim ends.
 */
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

/** The run, or the run that it was merged into, read after the claim. */
async function runOf({ reader }: DriverDependencies, delivery: Delivery): Promise<Run | undefined> {
  const run = await reader.run(delivery, runOfDelivery(delivery))
  return run?.mergedInto === undefined ? run : reader.run(delivery, run.mergedInto)
}

/** Calls the channel. Does nothing while the run has not started. */
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
    // The process is stopping, so the delivery is due at once for another process.
    if (signal.aborted) return { retryAt: clock.now() }
    const failures = claim.delivery.failures + 1
    const { tenant, session, id, kind } = claim.delivery
    logger.error('a channel failed', error, { tenant, session, delivery: id, kind, failures })
    if (failures >= MAX_FAILURES) {
      const state = channel.givenUp?.(claim.delivery, `abandoned: it failed ${failures} times in a row; see the log`)
      return { status: 'failed', failures, ...definedFields({ state }) }
    }
    return { retryAt: clock.now() + Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS), failures }
  }
}

/** Sends a hint for the time at which the delivery is due, if the next sweep would be too late. */
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
  // If the claim is kept, it expires at the time of the retry.
  else await claim.change({ ...kept, ...(end.keepClaim === true ? {} : { owner: null }), due: end.retryAt })
}
