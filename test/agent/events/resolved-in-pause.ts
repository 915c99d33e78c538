import { eventsSoFar } from '../../../functions/agent/events/follow-run.ts'
import type { RunEvent, StoredEvent } from '../../../functions/domain/events.ts'
import { until } from '../../eventually.ts'
import { makeTool } from '../harness.ts'
import type { Harness } from '../harness.ts'

export const clientTools = [{ name: 'ask', description: 'asks the client', parameters: { type: 'object' } }]

export const withIds = (events: readonly RunEvent[]): StoredEvent[] => events.filter((event) => 'id' in event)

export async function derivedEvents(
  { ports, key }: Pick<Harness, 'ports' | 'key'>,
  runId: string,
): Promise<StoredEvent[]> {
  return withIds(await Array.fromAsync(eventsSoFar(ports, key, runId)))
}

/** A run that pauses for two approvals and a client's result. */
export const RESOLVED_IN_PAUSE = {
  script: [
    {
      calls: [
        { id: 'a', name: 'careful' },
        { id: 'b', name: 'ask' },
        { id: 'c', name: 'careful' },
      ],
    },
    { text: 'done' },
  ],
  tools: [makeTool('careful', async () => ({ text: 'ran' }), { needsApproval: true })],
}

/** Resolves the calls of that pause: denies the first, answers the second, and approves the third. */
export const RESOLUTIONS = [
  { toolCallId: 'a', approve: false },
  { toolCallId: 'b', output: [{ type: 'text', text: '42' }] },
  { toolCallId: 'c', approve: true },
] as const

/** The events of that run since its pause. The end of a call is shown by the id of the call, other events by their type. */
export const EVENTS_OF_PAUSE = ['run.paused', 'a', 'b', 'run.resumed', 'c', 'message.completed', 'run.completed']

/** Plays that run. Returns its live events, those that are derived from the log, and the live events from its pause on. */
export async function resolveInPause(
  harness: Harness,
): Promise<{ readonly live: unknown; readonly derived: unknown; readonly sincePause: readonly string[] }> {
  const { service, session, events } = harness
  const runId = await harness.submit('go', { clientTools })
  await harness.settled(runId)
  await service.resolve(session, runId, RESOLUTIONS, { here: true })
  await until(async () => events.at(-1)?.type === 'run.completed')
  const live = withIds(events)
  const names = live.map((event) => (event.type === 'tool_call.completed' ? event.message.toolCallId : event.type))
  return {
    live: withoutGenerations(live),
    derived: withoutGenerations(await derivedEvents(harness, runId)),
    sincePause: names.slice(names.indexOf('run.paused')),
  }
}

/** The events without the generations of calls, which each later holder of the run may change. */
const withoutGenerations = (events: readonly StoredEvent[]): unknown =>
  JSON.parse(JSON.stringify(events, (name, value: unknown) => (name === 'generation' ? undefined : value)))
