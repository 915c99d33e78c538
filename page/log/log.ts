import type { Message, Run, RunEvent } from '../../functions/client/api-types.ts'
import { howFar } from '../../functions/client/how-far.ts'

/** A streaming completion. */
export interface Draft {
  readonly key: string
  readonly round: number
  readonly agent: string | undefined
  /** The message of the delegate call for which a member writes this completion. */
  readonly parent: string | undefined
  readonly parts: readonly DraftPart[]
}
export type DraftPart =
  | { readonly type: 'text' | 'reasoning'; readonly index: number; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly name: string; readonly arguments: string }

export interface Notice {
  readonly key: string
  readonly text: string
}

/** The loaded state of a session: a contiguous part of its log, and its current activity. */
export interface Log {
  /** Ordered by id, which is the order of the log. */
  readonly messages: readonly Message[]
  readonly drafts: readonly Draft[]
  /** The run that is followed, or the session's last run if no run is followed. */
  readonly run: Run | undefined
  readonly notices: readonly Notice[]
  /** Progress that tools of running calls report. `messageId` identifies the call. */
  readonly progress: readonly Notice[]
}

export const EMPTY_LOG: Log = { messages: [], drafts: [], run: undefined, notices: [], progress: [] }

/** Adds messages in any order. A message replaces an earlier version with the same id. */
export function withMessages(log: Log, added: readonly Message[]): Log {
  if (added.length === 0) return log
  const last = log.messages.at(-1)
  const [one] = added
  if (added.length === 1 && one !== undefined && (last === undefined || last.id < one.id))
    return { ...log, messages: [...log.messages, one] }
  const byId = new Map(log.messages.map((message) => [message.id, message]))
  for (const message of added) byId.set(message.id, newer(byId.get(message.id), message))
  return { ...log, messages: [...byId.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1)) }
}

/** Applies an event while the end of the log is not loaded. The event's message is not added. */
export function withEventElsewhere(log: Log, event: RunEvent): Log {
  const last = log.messages.at(-1)?.id ?? ''
  const after = withEvent(log, event)
  return { ...after, messages: after.messages.filter(({ id }) => id <= last) }
}

/**
 * Adds the end of the log, which was read back to the message `known`. If `isWhole` is false, some messages after
 * `known` were not read. In this case, messages up to `known` are dropped, because the loaded part must be contiguous.
 */
export function withEnd(log: Log, read: readonly Message[], known: string, isWhole: boolean): Log {
  const kept = isWhole ? log.messages : log.messages.filter(({ id }) => id > known)
  return withMessages({ ...log, messages: kept }, read)
}

/** Chooses between two versions of a message. An ended call is not replaced by an older report of its start. */
const newer = (old: Message | undefined, message: Message): Message =>
  old?.completed_at !== undefined && message.completed_at === undefined ? old : message

/** Applies an event. */
export function withEvent(log: Log, event: RunEvent): Log {
  switch (event.type) {
    case 'run.queued':
    case 'run.resumed':
    case 'run.started': {
      const started = { ...log, run: event.run }
      return 'message' in event && event.message !== undefined ? withMessages(started, [event.message]) : started
    }
    case 'run.paused':
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return { ...log, run: event.run, drafts: [], progress: [] }
    case 'round.started':
    case 'round.restarted':
      return { ...log, drafts: without(log.drafts, event.parent_message_id) }
    case 'text.delta':
    case 'reasoning.delta':
    case 'tool_call.delta':
      return { ...log, drafts: withDelta(log.drafts, event) }
    case 'message.completed':
      return withMessages({ ...log, drafts: without(log.drafts, event.parent_message_id) }, [event.message])
    case 'message.steered':
      return withMessages(log, [event.message])
    case 'tool_call.started':
    case 'tool_call.completed':
      return withMessages({ ...log, progress: others(log.progress, event.message.id) }, [event.message])
    case 'tool_call.progress': {
      const key = event.message_id
      const text = `${event.tool_name}: ${howFar(event)}`
      return { ...log, progress: [...others(log.progress, key), { key, text }] }
    }
    case 'context.nearly_full':
      return noted(
        log,
        event.run_id,
        event.type,
        `${event.messages} of ${event.threshold} messages before a summary is made`,
      )
    case 'context.consolidated':
      return noted(log, event.run_id, event.type, `${event.messages} older messages gave way to a summary`)
    case 'warning':
      return noted(log, event.run_id, event.code, `${event.code}: ${event.detail}`)
    default:
      event satisfies never
      // The page does not know this event, because the program was updated after the page was loaded.
      return log
  }
}

function noted(log: Log, run: string, kind: string, text: string): Log {
  const key = `${run}:${kind}`
  return { ...log, notices: [...others(log.notices, key), { key, text }] }
}

const others = (notices: readonly Notice[], key: string): readonly Notice[] =>
  notices.some((notice) => notice.key === key) ? notices.filter((notice) => notice.key !== key) : notices

const without = (drafts: readonly Draft[], parent: string | undefined): readonly Draft[] =>
  drafts.filter((draft) => draft.parent !== parent)

type Delta = Extract<RunEvent, { readonly round: number } & ({ readonly text: string } | { readonly sequence: number })>

function withDelta(drafts: readonly Draft[], event: Delta): readonly Draft[] {
  const { agent, parent_message_id: parent, round } = event
  const old = drafts.find((draft) => draft.parent === parent) ?? {
    key: `draft-${event.run_id}-${parent ?? ''}`,
    round,
    agent,
    parent,
    parts: [],
  }
  return [...without(drafts, parent), { ...old, round, parts: withPiece(old.parts, event) }]
}

function withPiece(parts: readonly DraftPart[], event: Delta): readonly DraftPart[] {
  if (event.type === 'tool_call.delta') {
    const { sequence: index, tool_name: name } = event
    const old = parts.find((part) => part.type === 'call' && part.index === index)
    const before = old?.type === 'call' ? old.arguments : ''
    const part: DraftPart = { type: 'call', index, name, arguments: before + event.arguments }
    return old === undefined ? [...parts, part] : parts.map((one) => (one === old ? part : one))
  }
  const type = event.type === 'text.delta' ? 'text' : 'reasoning'
  const old = parts.find((part) => part.type === type && part.index === event.part)
  const before = old?.type === type ? old.text : ''
  const part: DraftPart = { type, index: event.part, text: before + event.text }
  return old === undefined ? [...parts, part] : parts.map((one) => (one === old ? part : one))
}

export const isActive = (run: Run | undefined): boolean => run?.status === 'queued' || run?.status === 'running'
