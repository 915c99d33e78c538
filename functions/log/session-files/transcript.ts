import { isExactNumber } from '../../domain/json.ts'
import type { JsonObject } from '../../domain/json.ts'

/** A position in a session file. */
export interface FilePlace {
  readonly line: number
  /**
   * Position of a message within the line: `[3]`, `7: messages[3]`. Set if the line has several messages, or if a
   * document begins in this line.
   */
  readonly at?: string
}

/** A line of a session file that is JSON, or an entry of its document. */
export interface FileLine extends FilePlace {
  readonly value: unknown
}

/** Why a line was not imported. */
export interface Fault extends FilePlace {
  /** Path of the file. Absent if the fault is in the session file itself. */
  readonly path?: string
  readonly reason: string
}

/** A message in the form of an import, with the line at which it ends. */
export interface FileMessage extends FilePlace {
  readonly value: JsonObject
  /**
   * Set on the first message that may still change while a program writes to its file. `text`: the model may add text. `calls`:
   * calls are still in progress.
   */
  readonly open?: 'text' | 'calls'
}

/**
 * Versions of the session-file readers. Parser 1 drops queued inputs and the arguments of commands, and treats notices of
 * programs as user input. Sessions that parser 1 imported keep their messages, and parser 2 continues them.
 */
export type Parser = 1 | 2
export const NEWEST_PARSER: Parser = 2

/** The content of a session file. */
export interface Transcript {
  /** The session's name in the source; undefined if it has none. */
  readonly id: string | undefined
  readonly title: string | undefined
  readonly metadata: { readonly [name: string]: string }
  readonly messages: readonly FileMessage[]
  readonly faults: readonly Fault[]
}

/** Returns only the fields that make up a position. */
export const placeOf = ({ line, at }: FilePlace): FilePlace => (at === undefined ? { line } : { line, at })

export const isRecord = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

export const textIn = (record: { readonly [name: string]: unknown }, name: string): string | undefined => {
  const value = record[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Whether a part is a text that matches this pattern. */
export const isText = (part: JsonObject, pattern: RegExp): boolean =>
  part['type'] === 'text' && typeof part['text'] === 'string' && pattern.test(part['text'])

/** Returns the time of a record in the form of an import; undefined if it is invalid. */
export function timeIn(record: { readonly [name: string]: unknown }, name = 'timestamp'): string | undefined {
  const time = Date.parse(textIn(record, name) ?? '')
  return Number.isFinite(time) && time >= 0 ? new Date(time).toISOString() : undefined
}

/** Returns the text fields with these names, as metadata. */
export function textsIn(
  record: { readonly [name: string]: unknown },
  names: { readonly [field: string]: string },
): { readonly [name: string]: string } {
  const found = Object.entries(names).map(([field, name]) => [name, textIn(record, field)] as const)
  return Object.fromEntries(found.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])))
}

/** Removes undefined fields. */
const defined = (fields: { readonly [name: string]: unknown }): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject

interface Piece {
  readonly parts?: readonly JsonObject[]
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly time?: string | undefined
  readonly model?: string | undefined
  readonly usage?: JsonObject | undefined
}

/** The member that wrote these messages, and the call that the member works for. */
export interface Loop {
  readonly agent: string
  readonly parentToolCallId: string
}

const namesOf = (loop: Loop | undefined): JsonObject =>
  loop === undefined ? {} : { agent: loop.agent, parent_tool_call_id: loop.parentToolCallId }

/** Builds one assistant message from the pieces of a completion; undefined if the pieces have no content. */
function completionOf(pieces: readonly Piece[], base: JsonObject): JsonObject | undefined {
  const calls = pieces.flatMap((piece) => piece.calls ?? [])
  const parts = pieces.flatMap((piece) => [
    ...(piece.parts ?? []),
    ...(piece.calls ?? []).map(({ id }) => ({ type: 'tool_call', id })),
  ])
  if (parts.length === 0) return undefined
  return defined({
    ...base,
    role: 'assistant',
    created_at: pieces.find(({ time }) => time !== undefined)?.time,
    parts,
    tool_calls: calls.length === 0 ? undefined : calls,
    model: pieces.find(({ model }) => model !== undefined)?.model,
    usage: pieces.findLast(({ usage }) => usage !== undefined)?.usage,
  })
}

interface Result {
  /** Id of the call that the result belongs to. */
  readonly id: string
  readonly parts: readonly JsonObject[]
  readonly failed: boolean
  readonly time: string | undefined
}

interface Completion {
  line: number
  readonly key: unknown
  readonly loop: Loop | undefined
  readonly pieces: Piece[]
}

interface OpenEnd {
  readonly place: number
  readonly open: NonNullable<FileMessage['open']>
}

/** Tracks the last completion of each loop: its index, and which of its calls have a result. */
function createLastCompletions() {
  const lasts = new Map<string | undefined, { completion: Completion; place: number; answered: Set<string> }>()
  return {
    /**
     * Returns the index of a completion: its existing index if it is already the last completion of its loop, otherwise
     * `next`.
     */
    take(completion: Completion, next: number): number {
      const loop = completion.loop?.parentToolCallId
      const before = lasts.get(loop)
      if (before?.completion === completion) return before.place
      lasts.set(loop, { completion, place: next, answered: new Set() })
      return next
    },
    answer: (id: string, loop: Loop | undefined) => lasts.get(loop?.parentToolCallId)?.answered.add(id),
    end: (loop: Loop | undefined) => lasts.delete(loop?.parentToolCallId),
    /** Returns the last completion if it has this key and waits for results. */
    waiting(key: unknown, loop: Loop | undefined): Completion | undefined {
      const { completion, answered } = lasts.get(loop?.parentToolCallId) ?? {}
      if (completion?.key !== key) return undefined
      return callsOf(completion).every((id) => answered?.has(id)) ? undefined : completion
    },
    /** Returns the leader's last completion, if its round may still grow. */
    open(): OpenEnd | undefined {
      const last = lasts.get(undefined)
      if (last === undefined) return undefined
      const calls = callsOf(last.completion)
      if (calls.length === 0) return { place: last.place, open: 'text' }
      return calls.every((id) => last.answered.has(id)) ? undefined : { place: last.place, open: 'calls' }
    },
  }
}

const callsOf = (completion: Completion | undefined): string[] =>
  completion?.pieces.flatMap(({ calls = [] }) => calls.map(({ id }) => id)) ?? []

/**
 * Marks the first message that may still change: the leader's last completion, or the first message of members whose call has
 * no result, whichever comes first.
 */
function withOpenEnd(messages: readonly FileMessage[], last: OpenEnd | undefined, members = messages.length) {
  const rest: OpenEnd | undefined = members < messages.length ? { place: members, open: 'calls' } : undefined
  const end = rest === undefined || (last !== undefined && last.place < rest.place) ? last : rest
  return messages.map((one, place) => (place === end?.place ? { ...one, open: end.open } : one))
}

/**
 * Collects the messages of a file. Consecutive pieces with the same key become one assistant message. Results of the
 * message's calls may be between the pieces, because one call may end before the next call is written. If all calls of
 * the message have results, a further piece begins a new message.
 */
export function createMessages() {
  const messages: FileMessage[] = []
  let [open, openFrom]: [open?: Completion, openFrom?: number] = []
  const lasts = createLastCompletions()
  /** Times of the calls, by call id. */
  const called = new Map<string, string>()
  const add = (line: number, loop: Loop | undefined, fields: { readonly [name: string]: unknown }): void => {
    messages.push({ line, value: defined({ ...namesOf(loop), ...fields }) })
  }

  function flush(): void {
    const value = open === undefined ? undefined : completionOf(open.pieces, namesOf(open.loop))
    if (open !== undefined && value !== undefined)
      messages[lasts.take(open, messages.length)] = { line: open.line, value }
    open = undefined
  }

  return {
    /** Adds a piece of the completion that `key` identifies. */
    assistant(line: number, key: unknown, piece: Piece, loop?: Loop): void {
      if (open !== undefined && (open.key !== key || open.loop?.parentToolCallId !== loop?.parentToolCallId)) flush()
      open ??= lasts.waiting(key, loop) ?? { line, key, loop, pieces: [] }
      open.line = line
      open.pieces.push(piece)
      const { calls = [], time } = piece
      if (time !== undefined) for (const { id } of calls) called.set(id, time)
    },
    user(line: number, parts: readonly JsonObject[], time: string | undefined, loop?: Loop): void {
      flush()
      lasts.end(loop)
      if (parts.length > 0) add(line, loop, { role: 'user', created_at: time, parts })
    },
    result(line: number, { id, parts, failed, time }: Result, loop?: Loop): void {
      flush()
      lasts.answer(id, loop)
      const status = failed ? 'error' : 'completed'
      const times = { created_at: called.get(id) ?? time, completed_at: time }
      add(line, loop, { role: 'tool', tool_call_id: id, status, ...times, parts })
    },
    /** Adds a call without a result, so that the messages of its member can follow. */
    unanswered(line: number, id: string): void {
      flush()
      add(line, undefined, { role: 'tool', tool_call_id: id, status: 'running', created_at: called.get(id), parts: [] })
    },
    /** Marks the leader's completion as complete: the program that wrote the file reported the completion's end. */
    ended(): void {
      flush()
      lasts.end(undefined)
    },
    /** Marks all messages that are added later, because they may move when the file grows. */
    openFrom(): void {
      flush()
      openFrom ??= messages.length
    },
    end(): readonly FileMessage[] {
      flush()
      return withOpenEnd(messages, lasts.open(), openFrom)
    },
  }
}
