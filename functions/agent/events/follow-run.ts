import { TooltrailError } from '../../domain/errors.ts'
import { isTerminal, STREAMED_AGAIN } from '../../domain/events.ts'
import type { RunEvent, RunStateEvent } from '../../domain/events.ts'
import type { EventPosition } from '../../domain/runs/event-position.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import { isBlocked } from '../../domain/session.ts'
import { firstPendingNotice, lastEvent } from '../../log/stored-events.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { sharedReader } from './coalescing-reader.ts'
import type { EventBus, Subscription } from './event-bus.ts'
import { createEventFilter } from './event-filter.ts'
import type { EventFilter } from './event-filter.ts'
import { pollHeader } from './header-polling.ts'
import { createLiveOrder, positionOf } from './live-order.ts'
import type { LiveOrder } from './live-order.ts'
import { resumePoint } from './resume-point.ts'
import { createPlace } from './run-messages.ts'
import type { Place } from './run-messages.ts'
import { createTimeline } from './run-timeline.ts'
import { storedEvents } from './stored-run-events.ts'

/** Longest wait for an event, in milliseconds. A poll that finds a change ends the wait earlier. */
const NEXT_EVENT_TIMEOUT_MS = 60_000

export interface FollowDependencies {
  readonly reader: LogReader
  readonly lease: Pick<RunLease, 'readHeader' | 'readHeaderEventually'>
  /** `isServing`: whether this process executes a run of the session. If so, `bus` receives all events of the run. */
  readonly worker: { isServing(key: SessionKey): boolean }
  readonly bus: EventBus
}

/**
 * Yields a run's events: first those derived from its log, then live ones. Starts with the round of event `after`; if
 * `after` is absent, with the start of the run. Each stored event occurs once. Changes by other processes are found by
 * polling the header; while another process executes the run, the end of the log is polled as well. Ends after the
 * run's terminal event or when `signal` aborts.
 */
export async function* followRun(
  dependencies: FollowDependencies,
  key: SessionKey,
  runId: string,
  { after, signal }: { readonly after?: string; readonly signal: AbortSignal },
): AsyncGenerator<RunEvent> {
  const { lease, worker } = dependencies
  const subscription = dependencies.bus.subscribe(key)
  const { reader, begin } = sharedReader(dependencies.reader)
  const poll = pollHeader(lease, key, { of: 'events', wake })
  const leave = (): void => {
    subscription.close()
    poll.close()
  }
  // If the consumer stops reading, the `finally` below never runs. This listener then ends the subscription and the polling.
  signal.addEventListener('abort', leave)
  const follower = newFollower(reader, runId, after)
  try {
    while (!signal.aborted) {
      const state = await poll.state()
      const status = yield* showStored(dependencies, key, follower)
      if (status === undefined) return
      const isStale = (): boolean => {
        if (status === 'running' && worker.isServing(key)) return false
        const since = poll.since(state)
        // The log of a running run may have changed although the header has not: the end of a call changes only the log.
        return since === 'change' || (since === 'time' && status === 'running')
      }
      if (yield* liveEvents({ subscription, follower, signal, isStale, drop: begin })) return
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }

  /** Consumers woken by one poll share the next read of the log. */
  function wake(): void {
    begin()
    subscription.wake()
  }
}

interface Follower {
  readonly reader: LogReader
  readonly filter: EventFilter
  readonly order: LiveOrder
  readonly after: string | undefined
  /** Generations of the holders whose notices have been read. */
  readonly generations: Set<number>
  /** Threads whose last completion has an event position. A thread is named by the row of its delegate call; the leader is ''. */
  readonly positioned: Set<string>
  /** The run whose events are shown. */
  target: string
  /** Where the next read of the log starts; undefined before the first read. */
  place: Place | undefined
  /** The holder in this process has emitted all events up to this position. */
  settled: EventPosition | undefined
  /** The rest of a live batch in which an event required a read of the log. These events are shown after that read. */
  rest: readonly RunEvent[]
}

/** Yields the events that the log has. Returns the run's status; undefined after the run's last event. */
async function* showStored(
  { reader: kept, lease }: Pick<FollowDependencies, 'reader' | 'lease'>,
  key: SessionKey,
  follower: Follower,
): AsyncGenerator<RunEvent, Run['status'] | undefined> {
  const { reader, filter, order, after, settled, generations, positioned } = follower
  const { run, hasInput } = await followedRun(reader, key, follower.target)
  const shown = (event: RunEvent): RunEvent => (hasInput && isOfInput(event) ? { ...event, hasInput } : event)
  follower.target = run.id
  if (follower.place === undefined) {
    const resumed = await resumePoint(reader, key, run, after)
    follower.place = createPlace(resumed, firstPendingNotice(run, resumed))
  }
  const { place } = follower
  const header = run.status === 'paused' ? await lease.readHeader(key) : undefined
  const isWaiting = header !== undefined && isBlocked(header)
  const timeline = createTimeline(run, {
    from: place.notices,
    position: place.position,
    isWaiting,
    settled,
    generations,
    positioned,
  })
  for await (const event of storedEvents({ reader, kept, passed: filter.pass }, key, run, timeline, place))
    if (filter.isNew(event)) yield shown(event)
  order.moveTo(timeline.position)
  const last = timeline.isHeld ? undefined : lastEvent(run, place.waiting, isWaiting)
  if (last === undefined) {
    filter.forget(place.after)
    return run.status
  }
  if (filter.isNew(last)) yield shown(last)
  return undefined
}

/** Returns the run without its input, which may be long and would stay in memory for as long as the run is followed. */
async function followedRun(reader: LogReader, key: SessionKey, id: string): Promise<{ run: Run; hasInput: boolean }> {
  const { input, ...run } = await currentRun(reader, key, id)
  return { run, hasInput: input !== undefined }
}

const isOfInput = (event: RunEvent): event is RunStateEvent =>
  event.type === 'run.queued' || event.type === 'run.cancelled'

/**
 * Yields a run's stored events so far. They are the first events of `followRun`. If the run has ended or waits for its caller,
 * the last event is its end or its pause.
 */
export async function* eventsSoFar(
  { reader, lease }: Pick<FollowDependencies, 'reader' | 'lease'>,
  key: SessionKey,
  runId: string,
): AsyncGenerator<RunEvent> {
  const run = await currentRun(reader, key, runId)
  const header = run.status === 'paused' ? await lease.readHeader(key) : undefined
  const isWaiting = header !== undefined && isBlocked(header)
  const place = createPlace(undefined, 0)
  const timeline = createTimeline(run, { from: 0, isWaiting })
  yield* storedEvents({ reader, kept: reader }, key, run, timeline, place)
  const last = timeline.isHeld ? undefined : lastEvent(run, place.waiting, isWaiting)
  if (last !== undefined) yield last
}

/** Creates a follower that has yielded no event yet. */
const newFollower = (reader: LogReader, target: string, after: string | undefined): Follower => ({
  ...{
    reader,
    target,
    after,
    filter: createEventFilter(),
    order: createLiveOrder(),
    generations: new Set(),
    positioned: new Set(),
  },
  ...{ place: undefined, settled: undefined, rest: [] },
})

interface Live {
  readonly subscription: Subscription
  readonly follower: Follower
  readonly signal: AbortSignal
  /** Whether the log may hold more than was read. Called when a wait for events returned none. */
  isStale(): boolean
  /** Called when events are missing: the next read must return the current log. */
  drop(): void
}

/**
 * Yields the events of this process until the log must be read again. Returns whether it has yielded the run's terminal event.
 */
async function* liveEvents({ subscription, follower, signal, isStale, drop }: Live): AsyncGenerator<RunEvent, boolean> {
  const { filter, order, target } = follower
  for (;;) {
    const { events, gap } = await nextEvents(subscription, follower)
    for (const [place, event] of events.entries()) {
      if (event.runId !== target) continue
      // Another process may have held the run before this one resumed it. The last events of that holder are only in the log.
      const isMissing = 'id' in event && !filter.isKnown(event) && !order.isNext(event)
      if (isMissing || event.type === 'run.resumed') {
        follower.rest = events.slice(place + 1)
        follower.settled = positionOf(event) ?? follower.settled
        drop()
        return false
      }
      // The round is streamed again: this process lost the run and resumed it, or the consumer was too slow.
      if (event.type === 'round.started' && filter.isStreaming(event))
        yield { ...event, type: 'round.restarted', reason: STREAMED_AGAIN }
      if (!filter.isNew(event)) continue
      yield event
      if (isTerminal(event)) return true
    }
    if (gap) drop()
    if (gap || signal.aborted || (events.length === 0 && isStale())) return false
  }
}

/** Returns the remaining events of the last batch; if there are none, waits for the next batch. */
function nextEvents(subscription: Subscription, follower: Follower): ReturnType<Subscription['next']> {
  const { rest } = follower
  follower.rest = []
  return rest.length > 0 ? Promise.resolve({ events: rest, gap: false }) : subscription.next(NEXT_EVENT_TIMEOUT_MS)
}

/** Returns the run, or the run that it was merged into. Rejects with `run_not_found`. */
export async function currentRun(reader: LogReader, key: SessionKey, runId: string): Promise<Run> {
  const run = await reader.run(key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  if (run.status !== 'merged' || run.mergedInto === undefined) return run
  return currentRun(reader, key, run.mergedInto)
}
