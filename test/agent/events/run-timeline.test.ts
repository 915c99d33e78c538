/* Evidence, api: A client that resumes after any event of a run gets every later event once and in order. */
import { expect, test } from 'vitest'
import { createTimeline } from '../../../functions/agent/events/run-timeline.ts'
import type { AssistantMessage, Message, ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Run, RunNotice } from '../../../functions/domain/runs/run.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'

const at = (number: number, generation = 1) => ({ position: { generation, number } })
const counts = { rounds: 1, usage: NO_USAGE, usageByAgent: {} }

const round = (id: string, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  ...{ id, runId: 'r', role: 'assistant', agent: 'default', round: 0, createdAt: 0, parts: [] },
  toolCalls: [{ id: 'c', name: 'echo', arguments: '{}' }],
  ...more,
})
const call = (id: string, status: ToolMessage['status'], more: Partial<ToolMessage> = {}): ToolMessage => ({
  ...{ id, runId: 'r', role: 'tool', agent: 'default', assistantMessageId: 'm1', toolCallId: 'c', toolName: 'echo' },
  ...{ call: '', sequence: 0, round: 0, generation: 1, createdAt: 0, parts: [], status },
  ...more,
})
const running = (notices: readonly RunNotice[] = [], more: Partial<Run> = {}): Run =>
  ({ id: 'r', status: 'running', startedAt: 1, createdAt: 0, notices, ...more }) as unknown as Run

/** Returns the ids of the stored events in these messages, and whether an event is missing. */
function shown(run: Run, messages: readonly Message[], settled?: { generation: number; number: number }) {
  const timeline = createTimeline(run, { from: 0, isWaiting: false, settled })
  const events = messages.flatMap((message) => [...timeline.add(message)])
  events.push(...timeline.end())
  const ids = events.flatMap(({ event }) => ('id' in event ? [event.id] : []))
  return { ids, isHeld: timeline.isHeld, isSettled: timeline.isSettled }
}
const started = ['m1:message.completed', 'm2:tool_call.started', 'm3:tool_call.started']

test('call ends are emitted in the order of their positions, between the rounds', () => {
  const messages = [
    round('m1', at(0)),
    call('m2', 'completed', at(2)),
    call('m3', 'completed', at(1)),
    round('m4', { ...at(3), toolCalls: [] }),
  ]
  const ids = [...started, 'm3:tool_call.completed', 'm2:tool_call.completed', 'm4:message.completed']
  expect(shown(running(), messages)).toEqual({ ids, isHeld: false, isSettled: true })
})

test('a call end waits for the previous end, whose write may still be in flight', () => {
  const messages = [round('m1', at(0)), call('m2', 'running'), call('m3', 'completed', at(2))]
  expect(shown(running(), messages)).toEqual({ ids: started, isHeld: true, isSettled: false })
  const ended = [...started, 'm3:tool_call.completed']
  expect(shown(running(), messages, { generation: 1, number: 2 }).ids).toEqual(ended)
  expect(shown(running([], { status: 'failed' }), messages).ids).toEqual(ended)
})

test('a later holder’s `run.resumed` is emitted after that holder has claimed the former holder’s calls', () => {
  const resumed = { type: 'run.resumed', after: 'm3', counts, generation: 3 } as const
  const messages = (generation: number) => [
    round('m1', at(0)),
    call('m2', 'running', { generation }),
    call('m3', 'completed', at(1)),
  ]
  const ended = [...started, 'm3:tool_call.completed']
  expect(shown(running([resumed]), messages(1))).toMatchObject({ ids: ended, isHeld: true })
  const claimed = [...ended, 'm3:run.resumed']
  expect(shown(running([resumed]), messages(3))).toMatchObject({ ids: claimed, isHeld: false })
})

test('the leader’s next round is held back while the log shows an earlier call as running', () => {
  const messages = [round('m1', at(0)), call('m2', 'running'), call('m3', 'completed', at(1)), round('m4', at(2))]
  const ids = [...started, 'm3:tool_call.completed']
  expect(shown(running(), messages)).toMatchObject({ ids, isHeld: true })
})

test('the end of a client-resolved call is emitted at the position where the holder read the result', () => {
  const resolved = call('m2', 'completed', { needs: 'result' })
  const messages = [round('m1', at(0)), resolved, call('m3', 'completed', at(1))]
  expect(shown(running(), messages).ids).toEqual([...started, 'm3:tool_call.completed'])
  const notice = { type: 'calls.resolved', calls: ['m2'], after: 'm3', ...at(2) } as const
  const ids = [...started, 'm3:tool_call.completed', 'm2:tool_call.completed']
  expect(shown(running([notice]), messages).ids).toEqual(ids)
  const stale = messages.with(1, call('m2', 'waiting', { needs: 'result' }))
  expect(shown(running([notice]), stale)).toMatchObject({ ids: ids.slice(0, 4), isHeld: true })
})

test('ends of calls that were open until the run ended are emitted before the last message', () => {
  const messages = [
    round('m1', at(0)),
    call('m2', 'cancelled'),
    call('m3', 'completed', at(1)),
    round('m4', { ...at(2), toolCalls: [] }),
  ]
  const ids = [...started, 'm3:tool_call.completed', 'm2:tool_call.completed', 'm4:message.completed']
  expect(shown(running([], { status: 'cancelled' }), messages).ids).toEqual(ids)
})

test('a follower that starts within a round holds back the end of a call without a position', () => {
  const start = { from: 0, isWaiting: false, ...at(0), positioned: new Set(['']) }
  const timeline = createTimeline(running(), start)
  const events = [...timeline.add(call('m2', 'cancelled')), ...timeline.end()]
  expect(events.map(({ event }) => event.type)).toEqual(['tool_call.started'])
})

test('events of an older log without positions follow the order of its rows', () => {
  const messages = [round('m1'), call('m2', 'completed'), call('m3', 'completed'), round('m4', { toolCalls: [] })]
  const warning = { type: 'warning', code: 'sources_dropped', detail: '', after: 'm3' } as const
  expect(shown(running([warning], { status: 'completed' }), messages).ids).toEqual([
    ...['m1:message.completed', 'm2:tool_call.started', 'm2:tool_call.completed'],
    ...['m3:tool_call.started', 'm3:tool_call.completed', 'r:warning:0', 'm4:message.completed'],
  ])
})

test('a pause is held back while the messages before it have not been read', () => {
  const pause = { type: 'run.paused', asked: 'm5', calls: ['m6'], after: 'm6', counts, ...at(4) } as const
  const timeline = createTimeline(running(), { from: 0, isWaiting: false })
  const messages = [round('m1', at(0)), call('m2', 'completed', at(1)), call('m3', 'completed', at(2))]
  for (const message of messages) expect([...timeline.add(message)]).not.toEqual([])
  timeline.refresh(running([pause]))
  expect([...timeline.end()]).toEqual([])
  expect(timeline.isHeld).toBe(true)
  const unread = [...messages, round('m5', at(3)), call('m6', 'waiting', { needs: 'result' })]
  expect(shown(running([pause]), unread).ids.at(-1)).toBe('m5:run.paused')
})
