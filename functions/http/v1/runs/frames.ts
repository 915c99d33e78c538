import { sharedReader } from '../../../agent/events/coalescing-reader.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { RunEvent } from '../../../domain/events.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { inputLength, messageLength } from '../../../log/message-length.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { frame } from '../../streaming/event-stream.ts'
import type { NamedText } from '../../streaming/buffered-bodies.ts'
import { eventResource } from './event-resource.ts'
import { withArguments } from './resource.ts'
import type { WaitingCall } from './resource.ts'

/**
 * Maximum length of a message or input, in characters, for which each follower builds its own frame. For a longer one,
 * the followers of a run share the frame.
 */
const LONG = 4 * 1024

/**
 * Returns a function that builds the frames of one follower's events. After a long frame is built,
 * the function does not keep the input of its event in memory.
 */
export function framesOf(reader: LogReader, key: SessionKey): (event: RunEvent) => Promise<string | NamedText> {
  const inputs = sharedReader(reader).reader
  return async (emitted) => {
    const calls = await withArguments(reader, key, callsOf(emitted))
    const shown = { event: await withInput(inputs, key, emitted) }
    const make = (): string => textOf(key, shown.event, calls)
    const more = calls.reduce((sum, call) => sum + call.arguments.length, 0)
    if (!('id' in emitted) || fixedLength(shown.event) + more < LONG) return make()
    return { name: `${key.tenant}/${key.session}/${emitted.id}`, make, taken: () => void (shown.event = emitted) }
  }
}

const textOf = (key: SessionKey, event: RunEvent, calls: readonly WaitingCall[]): string =>
  frame({
    event: event.type,
    data: eventResource(key.session, event, calls),
    ...('id' in event ? { id: event.id } : {}),
  })

/** The calls whose arguments an event shows. */
function callsOf(event: RunEvent): readonly ToolMessage[] {
  if (event.type === 'run.paused') return event.waiting ?? []
  return event.type === 'tool_call.started' || event.type === 'tool_call.completed' ? [event.message] : []
}

/** Adds the input of the run to an event, unless the run has started since. */
async function withInput(reader: LogReader, key: SessionKey, event: RunEvent): Promise<RunEvent> {
  if (!('hasInput' in event)) return event
  const { input } = (await reader.run(key, event.run.id)) ?? {}
  return { ...event, run: { ...event.run, ...definedFields({ input }) } }
}

/**
 * Returns the length of the event's constant content in characters. This content is a message, or the input of a run
 * that has not started. Without such content, the result is negative, so that the frame is never shared.
 */
function fixedLength(event: RunEvent): number {
  if ('message' in event && event.message !== undefined) return messageLength(event.message)
  return 'run' in event && event.run.input !== undefined ? inputLength(event.run) : Number.NEGATIVE_INFINITY
}
