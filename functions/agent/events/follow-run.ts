import { TooltrailError } from '../../domain/errors.ts'
import { isTerminal, STREAMED_AGAIN } from '../../domain/events.ts'
import type { RunEvent, RunStateEvent } from '../../domain/events.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message, ToolMessage } from '../../domain/messages/message.ts'
import { isEnded } from '../../domain/runs/run.ts'
import type { Run, RunNotice } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import { isBlocked } from '../../domain/session.ts'
import { isDelegation } from '../../domain/runs/team.ts'
import { noticeEvents, withWaiting } from '../../log/run-events.ts'
import {
  beginningEvents,
  firstToTell,
  isInput,
  isResolved,
  lastEvent,
  messageEvents,
  tellNotices,
} from '../../log/stored-events.ts'
import type { Telling } from '../../log/stored-events.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { EventBus, Subscription } from './event-bus.ts'
import { createEventFilter } from './event-filter.ts'
import type { EventFilter } from './event-filter.ts'
import { glanceAt } from './header-polling.ts'
import { createMemberResults } from './member-results.ts'
import { createPlace, runMessages } from './run-messages.ts'
import type { Place } from './run-messages.ts'
import { sharedReader } from './coalescing-reader.ts'

/** Milliseconds in which a consumer is woken at the latest; a glance does that long before. */
const NEXT_EVENT_TIMEOUT_MS = 60_000

export interface FollowDependencies {
  readonly reader: LogReader
  readonly lease: Pick<RunLease, 'look' | 'glance'>
  /** Whether this process is executing a run of the session: then it is told of everything. */
  readonly worker: { isServing(key: SessionKey): boolean }
  readonly bus: EventBus
}

/**
 * A run's events: first those derived from its log, from the round of event `after` on, then live ones; each stored
 * event once. What other processes store is found by glances at the header, and by tailing the log while they execute the run.
 * Ends after the run's terminal event or when `signal` aborts.
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
  const glances = glanceAt(lease, key, { of: 'events', wake })
  const leave = (): void => {
    subscription.close()
    glances.close()
  }
  // Also if nobody takes another event: then this function never gets to its end.
  signal.addEventListener('abort', leave)
  const filter = createEventFilter()
  const follower: Follower = { reader, filter, after, target: runId, place: undefined, told: undefined }
  try {
    while (!signal.aborted) {
      const seen = await glances.seen()
      const status = yield* tellStored(dependencies, key, follower)
      if (status === undefined) return
      const isStale = (): boolean => {
        if (status === 'running' && worker.isServing(key)) return false
        const since = glances.since(seen)
        // The header says nothing of a call that has ended.
        return since === 'change' || (since === 'time' && status === 'running')
      }
      if (yield* liveEvents({ subscription, filter, target: follower.target, signal, isStale, drop: begin })) return
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }

  /** All who are woken by the same glance read what has come since together. */
  function wake(): void {
    begin()
    subscription.wake()
  }
}

interface Follower {
  readonly reader: LogReader
  readonly filter: EventFilter
  readonly after: string | undefined
  /** The run whose events are shown. */
  target: string
  /** How far the log has been told; undefined: nothing yet. */
  place: Place | undefined
  told: number | undefined
}

/** Tells what the log has. Returns how the run stands, undefined once there is nothing more to tell. */
async function* tellStored(
  { reader: kept, lease }: Pick<FollowDependencies, 'reader' | 'lease'>,
  key: SessionKey,
  follower: Follower,
): AsyncGenerator<RunEvent, Run['status'] | undefined> {
  const { reader, filter, after } = follower
  const { run, hasInput } = await followedRun(reader, key, follower.target)
  const told = (event: RunEvent): RunEvent => (hasInput && isOfInput(event) ? { ...event, hasInput } : event)
  follower.target = run.id
  const place = (follower.place ??= createPlace(await beforeRound(reader, key, run, after)))
  const header = run.status === 'paused' ? await lease.look(key) : undefined
  const isWaiting = header !== undefined && isBlocked(header)
  const telling = tellNotices(run, follower.told ?? firstToTell(run, place.after), isWaiting)
  for await (const event of storedEvents({ reader, kept, passed: filter.pass }, key, run, telling, place))
    if (filter.isNew(event)) yield told(event)
  follower.told = telling.told
  const last = lastEvent(run, place.waiting, isWaiting)
  if (last === undefined) {
    filter.forget(place.after)
    return run.status
  }
  if (filter.isNew(last)) yield told(last)
  return undefined
}

/** The run without its input, which may be long: each of its followers holds it, and what it is told, for as long as it waits. */
async function followedRun(reader: LogReader, key: SessionKey, id: string): Promise<{ run: Run; hasInput: boolean }> {
  const { input, ...run } = await currentRun(reader, key, id)
  return { run, hasInput: input !== undefined }
}

const isOfInput = (event: RunEvent): event is RunStateEvent =>
  event.type === 'run.queued' || event.type === 'run.cancelled'

/** A run's events so far, as `followRun` tells them first: the last one says how it ended or what it waits for, if it does. */
export async function* eventsSoFar(
  { reader, lease }: Pick<FollowDependencies, 'reader' | 'lease'>,
  key: SessionKey,
  runId: string,
): AsyncGenerator<RunEvent> {
  const run = await currentRun(reader, key, runId)
  const header = run.status === 'paused' ? await lease.look(key) : undefined
  const isWaiting = header !== undefined && isBlocked(header)
  const place = createPlace(undefined)
  yield* storedEvents({ reader, kept: reader }, key, run, tellNotices(run, 0, isWaiting), place)
  const last = lastEvent(run, place.waiting, isWaiting)
  if (last !== undefined) yield last
}

interface Live {
  readonly subscription: Subscription
  readonly filter: EventFilter
  /** The run whose events are shown. */
  readonly target: string
  readonly signal: AbortSignal
  /** Whether the log may have more than was read, now that no event comes. */
  isStale(): boolean
  /** Events were dropped: the log has to be read as it is now. */
  drop(): void
}

/** Yields what this process emits until the log has to be read again. Returns whether the run's terminal event was among them. */
async function* liveEvents({
  subscription,
  filter,
  target,
  signal,
  isStale,
  drop,
}: Live): AsyncGenerator<RunEvent, boolean> {
  for (;;) {
    const { events, gap } = await subscription.next(NEXT_EVENT_TIMEOUT_MS)
    for (const event of events) {
      if (event.runId !== target) continue
      // This process lost the run and took it up again, or the consumer was too slow: the round streams again.
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

/**
 * What the log tells from `place` on, which is moved on; from the run's beginning when there is nothing before it. Without how it
 * ended.
 */
async function* storedEvents(
  { reader, kept, passed }: { readonly reader: LogReader; readonly kept: LogReader; passed?(message: string): void },
  key: SessionKey,
  run: Run,
  telling: Telling,
  place: Place,
): AsyncGenerator<RunEvent> {
  /** Calls whose end is told after the pause that waited for them. */
  let held: ToolMessage[] = []
  const results = createMemberResults()
  let hasBegun = place.after !== undefined
  place.begin()
  if (run.startedAt !== undefined)
    for await (const message of runMessages(reader, key, run.id, place.after, kept)) {
      const input = !hasBegun && isInput(run, message) ? message : undefined
      if (!hasBegun) yield* beginningEvents(run, input)
      hasBegun = true
      if (message.role !== 'tool') yield* notices(message.id)
      if (message.role === 'assistant' && isLeaders(message)) yield* results.take()
      const [first, ...rest] = message === input ? [] : messageEvents(message)
      if (first !== undefined) yield first
      if (message.role === 'tool' && telling.waitsFor(message)) held.push(message)
      else if (message.role === 'tool' && isDelegation(message)) yield* results.add(message, rest)
      else yield* rest
      place.pass(message)
      if (place.after === message.id && held.length === 0 && results.isEmpty()) passed?.(message.id)
    }
  if (!hasBegun) yield* beginningEvents(run, undefined)
  yield* notices()
  yield* results.take()

  async function* notices(before?: string): AsyncGenerator<RunEvent> {
    for (const { notice, event } of telling.next(before)) {
      if (notice.type === 'run.resumed') yield* ends(isResolved)
      if (notice.type !== 'run.paused' || event.type !== 'run.paused') yield event
      else yield withWaiting(event, await callsOf(reader, key, notice.calls))
    }
    yield* ends((call) => !telling.waitsFor(call))
  }

  function* ends(which: (call: ToolMessage) => boolean): Generator<RunEvent> {
    const told = held.filter(which)
    held = held.filter((call) => !told.includes(call))
    for (const call of told) yield* messageEvents(call).slice(1)
  }
}

/** Calls of a pause. */
async function callsOf(reader: LogReader, key: SessionKey, ids: readonly string[]): Promise<ToolMessage[]> {
  const found = await Promise.all(ids.map((id) => reader.message(key, id)))
  return found.filter((message) => message?.role === 'tool')
}

/** The run, or the one that it was merged into. Rejects with `run_not_found`. */
export async function currentRun(reader: LogReader, key: SessionKey, runId: string): Promise<Run> {
  const run = await reader.run(key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  if (run.status !== 'merged' || run.mergedInto === undefined) return run
  return currentRun(reader, key, run.mergedInto)
}

/**
 * The message after which the round of event `after` begins, for a consumer that has seen its events up to there. Undefined
 * for the run's first round and for an event that is not the run's: all is sent then.
 */
async function beforeRound(
  reader: LogReader,
  key: SessionKey,
  run: Run,
  after: string | undefined,
): Promise<string | undefined> {
  const [id = ''] = after?.split(':') ?? []
  if (id === '') return undefined
  const notice = noticeOf(run, after)
  if (notice !== undefined && !('counts' in notice)) return notice.after
  const found =
    id === run.id && isEnded(run.status) ? await lastCompletion(reader, key, run) : await reader.message(key, id)
  if (found === undefined || found.runId !== run.id) return undefined
  const leaders = await leadersCall(reader, key, found)
  if (leaders === undefined) return undefined
  const begin = leaders.role === 'tool' ? leaders.assistantMessageId : leaders.id
  const query = { run: run.id, before: begin, order: 'descending', limit: 1 } as const
  return (await reader.messages(key, query)).messages[0]?.id
}

/**
 * The message itself, or the leader's delegate call that a member's belongs to: members work at the same time, so what one has not
 * ended yet may stand before what another has.
 */
async function leadersCall(reader: LogReader, key: SessionKey, message: Message): Promise<Message | undefined> {
  if (message.parentMessageId === undefined) return message
  const call = await reader.message(key, message.parentMessageId)
  return call && leadersCall(reader, key, call)
}

/** The notice that an event of this id tells. */
function noticeOf(run: Run, event: string | undefined): RunNotice | undefined {
  const { notices = [] } = run
  return notices[noticeEvents(run, notices).findIndex((one) => one.id === event)]
}

async function lastCompletion(reader: LogReader, key: SessionKey, run: Run): Promise<Message | undefined> {
  const query = { run: run.id, roles: ['assistant'], order: 'descending', limit: 1 } as const
  return (await reader.messages(key, query)).messages[0]
}
