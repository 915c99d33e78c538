import type { Message } from '../../functions/client/api-types.ts'
import { parentsOf } from '../log/parents.ts'

/** A bar of a waterfall: an action of the model or a tool, with its start and end in milliseconds since 1970. */
export interface Span {
  readonly id: string
  readonly kind: 'model' | 'tool'
  readonly label: string
  readonly status: string
  readonly depth: number
  readonly from: number
  readonly to: number
}
export interface RunSpans {
  readonly run: string
  readonly title: string
  readonly from: number
  readonly to: number
  readonly spans: readonly Span[]
}

/**
 * Returns the runs of a part of a log, newest first, each with its actions in order. `now` is used as the end of
 * actions in progress.
 */
export function runSpans(messages: readonly Message[], now: number): readonly RunSpans[] {
  const runs = new Map<string, Message[]>()
  for (const message of messages) runs.set(message.run_id, [...(runs.get(message.run_id) ?? []), message])
  return [...runs].map(([run, own]) => spansOf(run, own, now)).toReversed()
}

/** Returns the end of a call. An imported call has no end, so it gets no duration. */
function endOf({ completed_at, status }: Message, begun: number, now: number): number {
  if (completed_at !== undefined) return Date.parse(completed_at)
  return status === 'running' || status === 'waiting' ? now : begun
}

function spansOf(run: string, messages: readonly Message[], now: number): RunSpans {
  const input = messages.find(({ role }) => role === 'user')
  const parents = parentsOf(messages)
  /** Earliest start of each loop's next completion: the time at which all results of the loop existed. */
  const ready = new Map<string, number>()
  const depths = new Map<string, number>()
  const spans = messages.flatMap((message): Span[] => {
    const loop = message.parent_message_id ?? parents.get(message.id) ?? ''
    const begun = Date.parse(message.created_at)
    const depth = depths.get(loop) ?? 0
    if (message.role === 'user') {
      ready.set(loop, begun)
      return []
    }
    if (message.role === 'assistant') {
      const from = Math.min(ready.get(loop) ?? begun, begun)
      ready.set(loop, begun)
      const label = message.tool_calls === undefined ? 'completion' : 'completion with calls'
      return [{ id: message.id, kind: 'model', label, status: 'completed', depth, from, to: begun }]
    }
    const to = endOf(message, begun, now)
    ready.set(loop, Math.max(ready.get(loop) ?? 0, to))
    depths.set(message.id, depth + 1)
    const label = message.call ?? message.tool_name ?? ''
    return [{ id: message.id, kind: 'tool', label, status: message.status ?? 'completed', depth, from: begun, to }]
  })
  const times = [input === undefined ? now : Date.parse(input.created_at), ...spans.map(({ from }) => from)]
  const text = input?.parts.find((part) => part.type === 'text')
  return {
    run,
    title: text !== undefined && 'text' in text ? text.text : 'Continued',
    from: Math.min(...times),
    to: Math.max(...spans.map(({ to }) => to), Math.min(...times) + 1),
    spans,
  }
}
