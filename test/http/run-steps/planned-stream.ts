import type { AssistantPart } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { completionOf } from '../../agent/harness.ts'
import type { Turn } from '../../agent/harness.ts'
import { fc } from '../../generators/seeded.ts'

/** Delays in milliseconds. With different delays, results and streamed chunks may arrive in either order. */
const anyDelay = fc.constantFrom(0, 0, 2, 8)
const anyText = fc.constantFrom('I look. ', 'Hm, ', 'é🙂', ' ')
/** A piece of text or reasoning, or the next call. */
type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly delay: number }
  | { readonly type: 'call'; readonly tool: number; readonly delay: number }
export interface StreamPlan {
  readonly rounds: readonly (readonly Piece[])[]
  readonly last: string
  readonly storeMs: readonly number[]
}
const anyPiece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'reasoning' as const), text: anyText, delay: anyDelay }),
  fc.record({ type: fc.constant('call' as const), tool: anyDelay, delay: anyDelay }),
)
const anyRounds = fc.array(fc.array(anyPiece, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 })
export const anyStreamPlan: fc.Arbitrary<StreamPlan> = fc.record({
  rounds: anyRounds,
  last: anyText,
  storeMs: fc.array(anyDelay, { minLength: 1 }),
})
export const sleep = (ms: number): Promise<void> =>
  ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms))

const callsOf = (pieces: readonly Piece[], round: number) =>
  pieces
    .flatMap((piece) => (piece.type === 'call' ? [piece] : []))
    .map(({ tool }, place) => {
      return { id: `r${round}-${place}`, name: 'look', arguments: JSON.stringify({ delay: tool }) }
    })

const toolRounds = (request: ModelRequest): number =>
  request.messages.filter(({ role, parts }) => role === 'assistant' && parts.some(({ type }) => type === 'tool_call'))
    .length

/** The model follows the plan: it skips rounds without calls, and its last round has only text. */
export function plannedModel({ rounds, last }: StreamPlan): Turn {
  const withCalls = rounds.filter((pieces) => pieces.some(({ type }) => type === 'call'))
  return async function* stream(request) {
    const number = toolRounds(request)
    const pieces = withCalls[number] ?? [{ type: 'text' as const, text: `${last}!`, delay: 0 }]
    const calls = callsOf(pieces, number)
    const parts: AssistantPart[] = []
    let sequence = 0
    for (const piece of pieces) {
      await sleep(piece.delay)
      if (piece.type === 'call') {
        const call = calls[sequence]
        if (call === undefined) throw new Error('there is a call for each such piece')
        parts.push({ type: 'tool_call', id: call.id })
        const of = { type: 'tool_call.delta', sequence: sequence++, toolCallId: call.id, toolName: call.name } as const
        for (const half of [call.arguments.slice(0, 3), call.arguments.slice(3)]) yield { ...of, arguments: half }
      } else {
        const { type, text } = piece
        const last = parts.at(-1)
        // Joins neighbours of one kind into one part, like adapters.
        if (last?.type === type) parts[parts.length - 1] = { type, text: last.text + text }
        else parts.push({ type, text })
        yield { type: type === 'text' ? 'text.delta' : 'reasoning.delta', part: parts.length - 1, text }
      }
    }
    yield { type: 'completion', completion: { ...completionOf({ calls }), parts } }
  }
}

/** Stores the results of a plan late, each after its own delay. */
export const withSlowStore =
  (storeMs: readonly number[]) =>
  (ports: Ports): Ports => {
    let stored = 0
    const { completeCall } = ports.log
    return {
      ...ports,
      log: {
        ...ports.log,
        async completeCall(...result) {
          await sleep(storeMs[stored++ % storeMs.length] ?? 0)
          return completeCall(...result)
        },
      },
    }
  }
