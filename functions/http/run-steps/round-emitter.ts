import type { DeltaEvent } from '../../domain/events.ts'
import type { AssistantMessage, ToolCall } from '../../domain/messages/message.ts'
import type { RunStep, StepNames } from './run-step.ts'

export interface RoundEmitter {
  piece(event: DeltaEvent): RunStep[]
  /** Begins another attempt. The content emitted before is discarded. */
  discard(attempt: number): RunStep[]
  /** The attempt is replayed from its start for a slow client. Content already emitted is skipped. */
  repeat(attempt: number): RunStep[]
  complete(message: AssistantMessage): RunStep[]
}

/**
 * Turns the deltas of one round into steps. The `round` step is emitted before the first other step. A round that
 * emitted nothing needs no discard.
 */
export function createRoundEmitter(round: number, firstAttempt: number, of: StepNames): RoundEmitter {
  let attempt = firstAttempt
  let hasEmitted = false
  let emitted = nothing()
  /** Content received since the stream started or restarted. Differs from `emitted` only during a replay. */
  let seen = emitted
  const emit = (steps: RunStep[]): RunStep[] => {
    if (hasEmitted || steps.length === 0) return steps
    hasEmitted = true
    return [{ type: 'round', round, attempt, ...of }, ...steps]
  }
  const discard = (next: number): RunStep[] => {
    attempt = next
    emitted = nothing()
    seen = emitted
    return hasEmitted ? [{ type: 'discard', round, attempt, ...of }] : []
  }
  return {
    discard,
    repeat(next) {
      if (next !== attempt) return discard(next)
      seen = nothing()
      return []
    },
    piece(event) {
      const content = seen
      add(content, event)
      if (content === emitted) return emit([stepOf(event, of)])
      if (covers(emitted, content)) return []
      // In a run that an earlier version started, attempts of two holders can have the same number.
      const voids = covers(content, emitted) ? [] : discard(attempt)
      const rest = restOf(piecesOf(content), emitted)
      emitted = content
      seen = content
      return emit([...voids, ...rest.map((piece) => ({ ...piece, round, ...of }))])
    },
    complete(message) {
      const pieces = piecesOfMessage(message)
      const { attempt: stored = 0 } = message
      const isEmitted = stored === attempt && (seen === emitted || covers(contentOf(pieces), emitted))
      const voids = isEmitted ? [] : discard(stored)
      const rest = restOf(pieces, emitted).map((piece) => ({ ...piece, round, ...of }))
      return emit([...voids, ...rest, { type: 'completion', message, ...of }])
    },
  }
}

type Kind = 'text' | 'reasoning'
type Piece =
  | { readonly type: Kind; readonly text: string }
  | (Pick<ToolCall, 'id' | 'name' | 'arguments'> & { readonly type: 'call'; readonly sequence: number })
type Call = Extract<Piece, { type: 'call' }>

/** The streamed content of a round. */
interface Content {
  text: string
  reasoning: string
  readonly calls: Map<number, Call>
}

const nothing = (): Content => ({ text: '', reasoning: '', calls: new Map() })

function pieceOf(event: DeltaEvent): Piece {
  if (event.type !== 'tool_call.delta')
    return { type: event.type === 'text.delta' ? 'text' : 'reasoning', text: event.text }
  return {
    type: 'call',
    sequence: event.sequence,
    id: event.toolCallId,
    name: event.toolName,
    arguments: event.arguments,
  }
}

const stepOf = (event: DeltaEvent, of: StepNames): RunStep => ({ ...pieceOf(event), round: event.round, ...of })

const add = (content: Content, event: DeltaEvent): void => addPiece(content, pieceOf(event))

function addPiece(content: Content, piece: Piece): void {
  if (piece.type !== 'call') {
    content[piece.type] += piece.text
    return
  }
  const before = content.calls.get(piece.sequence)?.arguments ?? ''
  content.calls.set(piece.sequence, { ...piece, arguments: before + piece.arguments })
}

function contentOf(pieces: readonly Piece[]): Content {
  const content = nothing()
  for (const piece of pieces) addPiece(content, piece)
  return content
}

const piecesOf = ({ text, reasoning, calls }: Content): Piece[] => [
  { type: 'reasoning', text: reasoning },
  { type: 'text', text },
  ...calls.values(),
]

/** The pieces of a stored completion, in order. */
const piecesOfMessage = ({ parts, toolCalls }: AssistantMessage): Piece[] =>
  parts.flatMap((part): Piece[] => {
    if (part.type === 'error') return []
    if (part.type !== 'tool_call') return [{ type: part.type, text: part.text }]
    const sequence = toolCalls.findIndex(({ id }) => id === part.id)
    const call = toolCalls[sequence]
    if (call === undefined) return []
    return [{ type: 'call', sequence, id: call.id, name: call.name, arguments: call.arguments }]
  })

/** Whether the first content begins with the whole second content. */
const covers = (one: Content, other: Content): boolean =>
  one.text.startsWith(other.text) &&
  one.reasoning.startsWith(other.reasoning) &&
  [...other.calls.values()].every((call) => {
    const { id, name, arguments: whole = '' } = one.calls.get(call.sequence) ?? {}
    return id === call.id && name === call.name && whole.startsWith(call.arguments)
  })

/** Returns the part of these pieces that has not been emitted yet. */
function restOf(pieces: readonly Piece[], emitted: Content): Piece[] {
  const seen = { text: emitted.text.length, reasoning: emitted.reasoning.length }
  return pieces.flatMap((piece): Piece[] => {
    if (piece.type === 'call') {
      const known = emitted.calls.get(piece.sequence)?.arguments
      return known === piece.arguments ? [] : [{ ...piece, arguments: piece.arguments.slice(known?.length ?? 0) }]
    }
    const skipped = Math.min(seen[piece.type], piece.text.length)
    seen[piece.type] -= skipped
    const text = piece.text.slice(skipped)
    return text === '' ? [] : [{ ...piece, text }]
  })
}
