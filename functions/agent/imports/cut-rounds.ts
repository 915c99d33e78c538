import type { ClosedAssistantMessage, ClosedMessage } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { SEARCHING_TOOL } from '../../search/documents/documents.ts'
import { rowsOf, type PlacedMessage } from './closed-turns.ts'

/** The calls of a cut round that go on behind what has cut it. */
interface Rest {
  readonly of: ClosedAssistantMessage
  /** Their places in `of`, by those in the completion that had them first. */
  readonly places: ReadonlyMap<number, number>
}
type Rests = ReadonlyMap<ClosedAssistantMessage, Rest>

/** What a step stores. */
export interface StepMessages {
  readonly rows: readonly PlacedMessage[]
  /** How many of the messages that were given are in it. */
  readonly taken: number
  readonly rests: Rests
}

/**
 * Rounds of an import that are longer than a step. What comes between two steps of one cuts it: whoever was sent the round then was
 * told that its other calls have no result, and is told the same ever after (promises R5). These calls become a round of their own.
 */
export interface CutRounds {
  /** This message of the source is in the log. */
  stored(message: ClosedMessage): void
  /** Messages of at most `most` rows, as a step stores them. `isApart`: something else has come between it and the step before. */
  step(batch: readonly PlacedMessage[], isApart: boolean, most: number): StepMessages
  /** That step is in the log. */
  wrote(step: StepMessages, batch: readonly PlacedMessage[]): void
}

/** Nothing stored yet. */
export function createCutRounds(): CutRounds {
  /** Calls of stored completions whose results are not stored yet. */
  const open = new Map<ClosedAssistantMessage, Set<number>>()
  let rests: Rests = new Map()

  function stored(message: ClosedMessage): void {
    if (message.role === 'assistant' && message.toolCalls.length > 0)
      open.set(message, new Set(message.toolCalls.keys()))
    if (message.role !== 'tool') return
    const left = open.get(message.of)
    left?.delete(message.sequence)
    if (left?.size === 0) open.delete(message.of)
  }

  return {
    stored,
    step(batch, isApart, most) {
      const found = new Map(isApart ? [] : rests)
      const rows: PlacedMessage[] = []
      let taken = 0
      let count = 0
      for (const placed of batch) {
        const { message } = placed
        const left = isApart && message.role === 'tool' ? open.get(message.of) : undefined
        const isNew = message.role === 'tool' && left !== undefined && !found.has(message.of)
        count += rowsOf(message) + (isNew ? 1 : 0)
        if (count > most) break
        if (isNew) {
          const rest = restOf(message.of, left)
          found.set(message.of, rest)
          rows.push({ turn: placed.turn, round: placed.round, message: rest.of, ...markOf(rest.of) })
        }
        rows.push(inRest(placed, found))
        taken++
      }
      return { rows, taken, rests: found }
    },
    wrote(step, batch) {
      for (const { message } of batch.slice(0, step.taken)) stored(message)
      rests = new Map([...step.rests].filter(([of]) => open.has(of)))
    },
  }
}

/** A completion that asks for these calls of another, and says nothing that it has said. */
function restOf(of: ClosedAssistantMessage, left: ReadonlySet<number>): Rest {
  const sequences = [...left]
  const toolCalls = sequences.flatMap((sequence) => of.toolCalls.slice(sequence, sequence + 1))
  const { agent, parentToolCallId, parent, createdAt, run, model, searched } = of
  return {
    of: {
      role: 'assistant',
      parts: toolCalls.map(({ id }) => ({ type: 'tool_call', id })),
      toolCalls,
      ...definedFields({ agent, parentToolCallId, parent, createdAt, run, model, searched }),
    },
    places: new Map(sequences.map((sequence, place) => [sequence, place])),
  }
}

/** What it says was said before: that its calls are looked up in the history shows when it is imported again, too. */
const markOf = ({ searched, toolCalls }: ClosedAssistantMessage): Pick<PlacedMessage, 'searched'> =>
  searched === true || toolCalls.some(({ name }) => name === SEARCHING_TOOL) ? { searched: true } : {}

function inRest(placed: PlacedMessage, rests: Rests): PlacedMessage {
  const { message } = placed
  const rest = message.role === 'tool' ? rests.get(message.of) : undefined
  if (message.role !== 'tool' || rest === undefined) return placed
  return { ...placed, message: { ...message, of: rest.of, sequence: rest.places.get(message.sequence) ?? 0 } }
}
