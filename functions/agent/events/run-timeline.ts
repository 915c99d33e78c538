import type { RunEvent } from '../../domain/events.ts'
import { isLeaders, MAX_ROUND_CALLS } from '../../domain/messages/message.ts'
import type { Message, ToolMessage } from '../../domain/messages/message.ts'
import { comparePositions } from '../../domain/runs/event-position.ts'
import type { EventPosition } from '../../domain/runs/event-position.ts'
import { isEnded } from '../../domain/runs/run.ts'
import type { Run, RunNotice } from '../../domain/runs/run.ts'
import { isDelegation } from '../../domain/runs/team.ts'
import { callCompleted, noticeEvents } from '../../log/run-events.ts'
import { isResolved, messageEvents, pausedCalls, positionOfNotice } from '../../log/stored-events.ts'
import { messageLength } from '../../log/message-length.ts'

/**
 * An event of the run. For a pause, `calls` has the row ids of the calls that the pause waited for. The caller must add these
 * rows to the event.
 */
export interface TimelineEvent {
  readonly event: RunEvent
  readonly calls?: readonly string[]
}

/**
 * Derives a run's events, except its start and its end, from the run's notices and messages. Yields them in the order in
 * which the run's holders emitted them. Holds an event back while an event with an earlier position may still be stored.
 */
export interface Timeline {
  /** Whether this message is by a holder whose notices have not been read yet. */
  needsRun(message: Message): boolean
  /** Updates the notices. `run` must have been read after `needsRun` returned true. */
  refresh(run: Run): void
  /**
   * Yields the events that precede this message, then the message's own events. Messages must be passed in their order. The run's
   * input has no event of its own.
   */
  add(message: Message, isInput?: boolean): Generator<TimelineEvent>
  /** Yields the remaining events, after the last message was added. */
  end(): Generator<TimelineEvent>
  /** Whether an earlier event is missing. Later events are held back until the log is read again. */
  readonly isHeld: boolean
  /** Whether every event of the messages so far has been shown. */
  readonly isSettled: boolean
  /** The position of the last shown event that has one. */
  readonly position: EventPosition | undefined
  /** Number of notices shown or omitted so far. */
  readonly shown: number
}

interface Start {
  /** Index of the first notice to show. */
  readonly from: number
  /** The position of the last event that was shown before. */
  readonly position?: EventPosition | undefined
  /** Whether the run is still paused. The pause is then the last event and is not shown here. */
  readonly isWaiting: boolean
  /** Each event up to this position is stored, or will never be stored. */
  readonly settled?: EventPosition | undefined
  /** Generations of the holders whose notices have been read. */
  readonly generations?: Set<number>
  /**
   * Threads whose last completion has an event position. A thread is named by the row of its delegate call. Kept between two
   * reads, because a follower may resume within a round.
   */
  readonly positioned?: Set<string>
}

interface State {
  readonly run: Run
  readonly isOver: boolean
  readonly isWaiting: boolean
  readonly settled: EventPosition | undefined
  /** Threads whose last completion has an event position. A thread is named by the row of its delegate call. */
  readonly positioned: Set<string>
  readonly open: Map<string, ToolMessage>
  /** Ended calls whose end events have a position and are not shown yet, in the order of these positions. */
  readonly ends: ToolMessage[]
  /**
   * Ended calls whose end events have no position and are not shown yet. A client resolved each call, or the end of the run
   * closed it. In older logs, other calls that ended after a pause are included until the pause is shown.
   */
  readonly unplaced: Map<string, ToolMessage>
  readonly results: MemberResults
  notices: readonly RunNotice[]
  next: number
  /** Id of the last message that was added; '' if there is none. */
  added: string
  last: EventPosition | undefined
  isHeld: boolean
}

/** Creates a run's timeline. `run` must have been read before its messages. */
export function createTimeline(
  run: Run,
  { from, position, isWaiting, settled, generations = new Set(), positioned = new Set() }: Start,
): Timeline {
  const state: State = {
    ...{ run, isWaiting, settled, notices: run.notices ?? [], next: from, added: '', last: position, isHeld: false },
    ...{ isOver: isEnded(run.status), positioned, open: new Map(), ends: [], unplaced: new Map() },
    results: createMemberResults(),
  }
  return {
    needsRun: ({ position }) => !state.isOver && position !== undefined && !generations.has(position.generation),
    refresh: ({ notices = [] }) => void (state.notices = notices),
    *add(message, isInput = false) {
      if (message.position !== undefined) generations.add(message.position.generation)
      state.added = message.id
      if (state.isHeld) return
      if (message.role === 'tool') yield* addCall(state, message)
      else yield* addMessage(state, message, isInput)
    },
    *end() {
      yield* upTo(state, undefined)
      if (state.isHeld) return
      for (const event of state.results.take()) yield { event }
      if (state.isOver) yield* showUnplaced(state, () => true)
    },
    get isHeld() {
      return state.isHeld
    },
    get isSettled() {
      const { isHeld, open, ends, unplaced, results } = state
      return !isHeld && open.size === 0 && ends.length === 0 && unplaced.size === 0 && results.isEmpty()
    },
    get position() {
      return state.last
    },
    get shown() {
      return state.next
    },
  }
}

/** Whether an event before this position is missing and may still be stored. */
function hasGap({ isOver, settled, notices, last, open }: State, position: EventPosition): boolean {
  const isSettled =
    (settled !== undefined && comparePositions(position, settled) <= 0) ||
    notices.some((one) => one.type === 'run.paused' && (one.generation ?? -1) >= position.generation)
  if (isOver || isSettled || last === undefined) return false
  if (position.generation === last.generation) return position.number > last.number + 1
  // A write of the former holder may still land until the new holder has claimed that holder's running calls.
  const isUnclaimed = ({ status, generation }: ToolMessage): boolean =>
    status === 'running' && generation < position.generation
  return position.number > 0 || open.values().some(isUnclaimed)
}

/** Yields the events that precede this message; without a message, all remaining ones. */
function* upTo(state: State, message: Message | undefined): Generator<TimelineEvent> {
  while (!state.isHeld) {
    const notice = state.next < endOfNotices(state) ? state.notices[state.next] : undefined
    const [call] = state.ends
    const place = notice && positionOfNotice(notice)
    const isNotice =
      notice !== undefined &&
      isBefore(message, place, notice.after) &&
      (place === undefined || call?.position === undefined || comparePositions(place, call.position) < 0)
    if (!isNotice && (call === undefined || !isBefore(message, call.position))) return
    const position = isNotice ? place : call?.position
    if (position !== undefined && hasGap(state, position)) state.isHeld = true
    else if (isNotice && message === undefined && isAhead(state, notice)) state.isHeld = true
    else if (isNotice) yield* showNotice(state, notice, place)
    else if (call !== undefined) {
      state.ends.shift()
      state.last = position
      yield { event: callCompleted(call) }
    }
  }
}

/** Whether a refresh brought a notice that follows messages which have not been read yet. */
const isAhead = ({ run, next, added }: State, { after }: RunNotice): boolean =>
  next >= (run.notices?.length ?? 0) && after > added

const endOfNotices = ({ notices, isWaiting }: State): number =>
  isWaiting && notices.at(-1)?.type === 'run.paused' ? notices.length - 1 : notices.length

/**
 * Whether an event precedes a message. Compares their positions. If one of them has no position, compares the message's id with
 * `after`, the id that the event follows.
 */
function isBefore(message: Message | undefined, position: EventPosition | undefined, after?: string): boolean {
  if (message === undefined) return true
  if (position !== undefined && message.position !== undefined) return comparePositions(position, message.position) < 0
  return after === undefined || after < message.id
}

function* showNotice(state: State, notice: RunNotice, position: EventPosition | undefined): Generator<TimelineEvent> {
  const { open, isOver, positioned } = state
  const waited = (): readonly string[] => pausedCalls(state.notices.slice(0, state.next))
  const calls = notice.type === 'calls.resolved' ? notice.calls : notice.type === 'run.resumed' ? waited() : []
  const isStale = (id: string): boolean =>
    notice.type === 'calls.resolved' ? open.has(id) : open.get(id)?.status === 'waiting'
  if (!isOver && calls.some(isStale)) return void (state.isHeld = true)
  yield* showUnplaced(state, (call) => calls.includes(call.id) && isResolved(call))
  const event = noticeEvents(state.run, state.notices)[state.next++]
  if (event !== undefined) yield notice.type === 'run.paused' ? { event, calls: notice.calls } : { event }
  state.last = position ?? state.last
  if (notice.type !== 'run.resumed') return
  yield* showUnplaced(state, ({ id, parentMessageId = '' }) => calls.includes(id) && !positioned.has(parentMessageId))
}

function* showUnplaced({ unplaced }: State, isShown: (call: ToolMessage) => boolean): Generator<TimelineEvent> {
  for (const [id, call] of unplaced)
    if (isShown(call)) {
      unplaced.delete(id)
      yield { event: callCompleted(call) }
    }
}

function* addCall(state: State, call: ToolMessage): Generator<TimelineEvent> {
  const { position, parentMessageId = '' } = call
  const [started, completed] = messageEvents(call)
  // Calls beyond `MAX_ROUND_CALLS` are refused. They are stored after their round, each with its result.
  const isApart = call.sequence >= MAX_ROUND_CALLS && position !== undefined
  if (isApart) {
    yield* upTo(state, call)
    state.isHeld ||= hasGap(state, position)
  }
  if (state.isHeld || started === undefined) return
  yield { event: started }
  if (completed === undefined) state.open.set(call.id, call)
  else if (isApart) {
    state.last = position
    yield { event: completed }
  } else if (position !== undefined) addEnd(state.ends, call, position)
  else if (state.positioned.has(parentMessageId) || isPaused(state, call)) state.unplaced.set(call.id, call)
  else if (isDelegation(call)) for (const event of state.results.add(call, [completed])) yield { event }
  else yield { event: completed }
}

function addEnd(ends: ToolMessage[], call: ToolMessage, position: EventPosition): void {
  const place = ends.findLastIndex((end) => end.position !== undefined && comparePositions(end.position, position) <= 0)
  ends.splice(place + 1, 0, call)
}

/** Whether the run waited for this call during a pause that is not shown yet. */
const isPaused = (state: State, { id }: ToolMessage): boolean =>
  state.notices
    .slice(state.next, endOfNotices(state))
    .some((notice) => notice.type === 'run.paused' && notice.calls.includes(id))

function* addMessage(state: State, message: Exclude<Message, ToolMessage>, isInput: boolean): Generator<TimelineEvent> {
  const { position, parentMessageId = '' } = message
  const isLeadersOwn = isLeaders(message)
  // A member's task has no event.
  if (message.role === 'user' && !isLeadersOwn) return
  yield* upTo(state, message)
  // The leader continues only after all calls have ended. If a call is still open here, it was read before its end was stored.
  const isStale = isLeadersOwn && !state.isOver && state.open.size > 0
  state.isHeld ||= isStale || (position !== undefined && hasGap(state, position))
  if (state.isHeld) return
  if (message.role === 'assistant') {
    if (isLeadersOwn && message.toolCalls.length === 0) yield* showUnplaced(state, () => true)
    if (isLeadersOwn) for (const event of state.results.take()) yield { event }
    if (position === undefined) state.positioned.delete(parentMessageId)
    else state.positioned.add(parentMessageId)
  }
  state.last = position ?? state.last
  if (!isInput) for (const event of messageEvents(message)) yield { event }
}

/** Limits of the results held back. An imported log may have thousands of results before their members' messages. */
const MAX_RESULTS = 1_000
const MAX_CHARACTERS = 8_000_000

/** Holds back `tool_call.completed` of delegate calls until their members' events have been emitted. */
interface MemberResults {
  /** Holds back the end of a call. If the limits are exceeded, returns all held events: the caller must emit them now. */
  add(call: ToolMessage, end: readonly RunEvent[]): readonly RunEvent[]
  /** Returns and removes all held events, inner calls first. */
  take(): readonly RunEvent[]
  isEmpty(): boolean
}

/** Creates a `MemberResults` that holds no events yet. */
export function createMemberResults(): MemberResults {
  let waiting: RunEvent[] = []
  let characters = 0
  const take = (): readonly RunEvent[] => {
    const all = waiting.toReversed()
    waiting = []
    characters = 0
    return all
  }
  return {
    add(call, end) {
      waiting.push(...end)
      characters += messageLength(call)
      return waiting.length > MAX_RESULTS || characters > MAX_CHARACTERS ? take() : []
    },
    take,
    isEmpty: () => waiting.length === 0,
  }
}
