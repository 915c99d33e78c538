import type { RunEvent, RunStateEvent } from '../../domain/events.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import { withWaiting } from '../../log/run-events.ts'
import { beginningEvents, isInput } from '../../log/stored-events.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import { runMessages } from './run-messages.ts'
import type { Place } from './run-messages.ts'
import type { Timeline, TimelineEvent } from './run-timeline.ts'

interface Reading {
  readonly reader: LogReader
  /** The reader whose readers share messages, where `reader` is one of them. */
  readonly kept: LogReader
  /** All events of messages up to this one are shown. */
  passed?(message: string): void
}

/**
 * The events that the log shows from `place` on, which moves; from the run's beginning where nothing comes before it. Without the
 * event of its end. Stops where the timeline is held.
 */
export async function* storedEvents(
  { reader, kept, passed }: Reading,
  key: SessionKey,
  run: Run,
  timeline: Timeline,
  place: Place,
): AsyncGenerator<RunEvent> {
  let hasBegun = place.after !== undefined
  place.begin()
  if (run.startedAt !== undefined)
    for await (const message of runMessages(reader, key, run.id, place.after, kept)) {
      const input = !hasBegun && isInput(run, message) ? message : undefined
      if (!hasBegun) yield* beginningEvents(run, input)
      hasBegun = true
      if (timeline.needsRun(message)) timeline.refresh((await reader.run(key, run.id)) ?? run)
      yield* shown(timeline.add(message, input !== undefined))
      if (timeline.isHeld) return
      place.pass(message, timeline)
      if (place.after === message.id) passed?.(message.id)
    }
  if (!hasBegun) yield* beginningEvents(run, undefined)
  yield* shown(timeline.end())

  async function* shown(events: Iterable<TimelineEvent>): AsyncGenerator<RunEvent> {
    for (const { event, calls } of events) {
      if (calls === undefined) yield event
      // Only pauses name calls.
      else yield withWaiting(event as RunStateEvent, await callsOf(reader, key, calls))
    }
  }
}

/** Calls of a pause. */
async function callsOf(reader: LogReader, key: SessionKey, ids: readonly string[]): Promise<ToolMessage[]> {
  const found = await Promise.all(ids.map((id) => reader.message(key, id)))
  return found.filter((message) => message?.role === 'tool')
}
