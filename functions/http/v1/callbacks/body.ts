import type { RunStateEvent } from '../../../domain/events.ts'
import { pointerTo, type Message } from '../../../domain/messages/message.ts'
import type { Run } from '../../../domain/runs/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { noticeEvents, runEnded, withWaiting } from '../../../log/run-events.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { timeText } from '../time-text.ts'
import { messageMaker, type MessageResource } from '../messages/resource.ts'
import { runResource, withArguments, type RunResource } from '../runs/resource.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Limit of the JSON, in bytes. In a longer body, pointers replace long texts. */
const MAX_CALLBACK_BYTES = 256 * 1024
/** Code points of a long text that are kept before its pointer. */
const PREVIEW = 500
const PAGE = 100
const PAGE_CHARACTERS = 1_000_000

/**
 * Builds the body for a run that has ended, or for the run's pause with the number `pause`. The body contains the run
 * and its messages, as the API shows them.
 */
export async function callbackBody(reader: LogReader, key: SessionKey, run: Run, pause?: number): Promise<string> {
  const at = pause === undefined ? endOf(run) : await pauseOf(reader, key, run, pause)
  const waiting = await withArguments(reader, key, at.event.waiting ?? [])
  const messages = await messagesUpTo(reader, key, run.id, at.last)
  return bodyOf(at.event.type, at.time, runResource(key.session, { run: at.event.run, waiting }), messages)
}

interface Moment {
  readonly event: RunStateEvent
  /** The run's last message at the time of the event. If undefined, the run's newest message is used. */
  readonly last?: string
  readonly time: number
}

const endOf = (run: Run): Moment => ({ event: runEnded(run), time: run.endedAt ?? run.createdAt })

async function pauseOf(reader: LogReader, key: SessionKey, run: Run, number: number): Promise<Moment> {
  const notices = run.notices ?? []
  const events = noticeEvents(run, notices)
  const places = notices.flatMap(({ type }, place) => (type === 'run.paused' ? [place] : []))
  const place = places[number] ?? -1
  const [notice, event] = [notices[place], events[place]]
  if (notice?.type !== 'run.paused' || event?.type !== 'run.paused')
    throw new Error(`run ${run.id} has no pause ${number}`)
  const found = await Promise.all(notice.calls.map((id) => reader.message(key, id)))
  const calls = found.filter((message) => message?.role === 'tool')
  const last = notice.after
  const made = await reader.message(key, last)
  return { event: withWaiting(event, calls), last, time: made?.createdAt ?? run.createdAt }
}

/**
 * Returns the run's messages as the API shows them. If they exceed the limit together, long texts are shortened during
 * the read.
 */
async function messagesUpTo(
  reader: LogReader,
  key: SessionKey,
  run: string,
  last: string | undefined,
): Promise<MessageResource[]> {
  const found: MessageResource[] = []
  let bytes = 0
  for (let after: string | undefined; ;) {
    const query = { run, order: 'ascending', limit: PAGE, mostCharacters: PAGE_CHARACTERS } as const
    const page = await reader.messages(key, after === undefined ? query : { ...query, after })
    const wanted: Message[] = page.messages.filter(({ id }) => last === undefined || id <= last)
    const make = await messageMaker(reader, key, wanted)
    for (const message of wanted) {
      const resource = await make(message)
      const before = bytes
      bytes += bytesOf(resource)
      if (bytes > MAX_CALLBACK_BYTES && before <= MAX_CALLBACK_BYTES)
        found.splice(0, found.length, ...found.map(withPointers))
      found.push(bytes > MAX_CALLBACK_BYTES ? withPointers(resource) : resource)
    }
    after = page.messages.at(-1)?.id
    if (!page.more || after === undefined || wanted.length < page.messages.length) return found
  }
}

/**
 * Shortens results first. If that is not enough, shortens all long texts, including the input's, and finally drops the
 * oldest messages.
 */
function bodyOf(type: string, time: number, whole: RunResource, all: readonly MessageResource[]): string {
  const run = withShortInput(withoutLongOutput(whole))
  const write = (messages: readonly MessageResource[], shown = run): string =>
    jsonText({ type, timestamp: timeText(time), data: { ...shown, messages } })
  const isFitting = (text: string): boolean => Buffer.byteLength(text) <= MAX_CALLBACK_BYTES
  const first = write(all, whole)
  if (isFitting(first)) return first
  for (const messages of [all.map(withPointers), all.map(shortened)]) {
    const text = write(messages)
    if (isFitting(text)) return text
  }
  const short = all.map(shortened)
  while (short.length > 1 && !isFitting(write(short))) short.splice(0, Math.ceil(short.length / 4))
  return write(short)
}

const bytesOf = (value: unknown): number => Buffer.byteLength(jsonText(value))

/** Shortens a result; other messages stay unchanged. */
function withPointers(message: MessageResource): MessageResource {
  return message.role === 'tool' ? shortened(message) : message
}

function shortened(message: MessageResource): MessageResource {
  const { id, arguments: text, tool_calls: calls } = message
  const cut = (long: string): string => cutText(long, message.role === 'tool' ? pointerTo(id) : `message ${id}`)
  return {
    ...message,
    parts: message.parts.map((part) => ('text' in part ? { ...part, text: cut(part.text) } : part)),
    ...(text === undefined ? {} : { arguments: cut(text) }),
    ...(calls === undefined ? {} : { tool_calls: calls.map((call) => ({ ...call, arguments: cut(call.arguments) })) }),
  }
}

/** Drops an output that is long. The last message has the same text, or a pointer to the text. */
function withoutLongOutput({ output, ...run }: RunResource): RunResource {
  return output === undefined || bytesOf(output) > 2 * PREVIEW ? run : { ...run, output }
}

function withShortInput(run: RunResource): RunResource {
  const { id, input } = run
  if (input === undefined) return run
  const parts = input.parts.map((part) =>
    part.type === 'text' ? { ...part, text: cutText(part.text, `run ${id}`) } : part,
  )
  return { ...run, input: { ...input, parts } }
}

function cutText(text: string, pointer: string): string {
  if (text.length <= 2 * PREVIEW) return text
  return `${[...text.slice(0, 2 * PREVIEW)].slice(0, PREVIEW).join('')}\n\n[Full text: ${pointer}]`
}
