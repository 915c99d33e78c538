import type { ClosedAssistantMessage, ClosedMessage } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { SEARCHING_TOOL } from '../../search/documents/documents.ts'
import { rowsOf, type PlacedMessage } from './closed-turns.ts'

/**
 * The rest of a split round: a completion with the calls that had no stored result. It is stored after the write that split the
 * round.
 */
interface Rest {
  readonly of: ClosedAssistantMessage
  /** The index of each call in `of`, by its index in the original completion. */
  readonly places: ReadonlyMap<number, number>
}
type Rests = ReadonlyMap<ClosedAssistantMessage, Rest>

/** The messages that a step stores. */
export interface StepMessages {
  readonly rows: readonly PlacedMessage[]
  /** Number of messages taken from the batch. `rows` may also contain completions for the rests of rounds. */
  readonly taken: number
  readonly rests: Rests
}

/**
 * Splits rounds of an import that are longer than a step. If another write comes between two steps of a round, a request may
 * have been sent before the second step. That request reported the round's open calls as having no result, and later requests
 * must repeat this report (promises R5). So these calls become a separate round.
 */
export interface CutRounds {
  /** Records that this message of the source is in the log. */
  stored(message: ClosedMessage): void
  /**
   * Selects the first messages for a step of at most `most` rows. `isApart`: another write came between this step and
   * the previous one.
   */
  step(batch: readonly PlacedMessage[], isApart: boolean, most: number): StepMessages
  /** Records that this step is in the log. */
  wrote(step: StepMessages, batch: readonly PlacedMessage[]): void
}

/** Creates the state of an import that has stored nothing yet. */
export function createCutRounds(): CutRounds {
  /** Indexes of the calls whose results are not stored yet, by stored completion. */
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

/** Builds a completion from another one: it has only these calls, and no text. */
function restOf(of: ClosedAssistantMessage, left: ReadonlySet<number>): Rest {
  const sequences = [...left]
  const toolCalls = sequences.flatMap((sequence) => of.toolCalls.slice(sequence, sequence + 1))
  const { agent, parentToolCallId, parent, createdAt, run, model, requestedModel, searched } = of
  return {
    of: {
      role: 'assistant',
      parts: toolCalls.map(({ id }) => ({ type: 'tool_call', id })),
      toolCalls,
      ...definedFields({ agent, parentToolCallId, parent, createdAt, run, model, requestedModel, searched }),
    },
    places: new Map(sequences.map((sequence, place) => [sequence, place])),
  }
}

/** Keeps the `searched` mark, so that another import of the log sees it. */
const markOf = ({ searched, toolCalls }: ClosedAssistantMessage): Pick<PlacedMessage, 'searched'> =>
  searched === true || toolCalls.some(({ name }) => name === SEARCHING_TOOL) ? { searched: true } : {}

function inRest(placed: PlacedMessage, rests: Rests): PlacedMessage {
  const { message } = placed
  const rest = message.role === 'tool' ? rests.get(message.of) : undefined
  if (message.role !== 'tool' || rest === undefined) return placed
  return { ...placed, message: { ...message, of: rest.of, sequence: rest.places.get(message.sequence) ?? 0 } }
}
