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
  /** The process's reader, which all followers have in common. It is the key of the shared messages. */
  readonly kept: LogReader
  /** Called when all events of the messages up to this one have been shown. */
  passed?(message: string): void
}

/**
 * Yields the events that the log has from `place` on, and moves `place` forward. The event of the run's end is not
 * included. Stops when the timeline holds an event back.
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
      // Only pauses have `calls`.
      else yield withWaiting(event as RunStateEvent, await callsOf(reader, key, calls))
    }
  }
}

/** Reads the rows of the calls that a pause waited for. */
async function callsOf(reader: LogReader, key: SessionKey, ids: readonly string[]): Promise<ToolMessage[]> {
  const found = await Promise.all(ids.map((id) => reader.message(key, id)))
  return found.filter((message) => message?.role === 'tool')
}
