import type { AssistantPart } from '../../../domain/messages/message.ts'
import { createPieceJoiner, wellFormedJson } from '../../../log/json/well-formed.ts'
import type { PieceJoiner } from '../../../log/json/well-formed.ts'
import type { Completion, ModelEvent } from '../../../ports/model.ts'

type Delta = Exclude<ModelEvent, { type: 'completion' }>
interface Piece {
  readonly joiner: PieceJoiner
  /** The newest delta of the text. */
  delta: Delta
}

/**
 * Converts a model's stream to events that contain only whole characters. Half of a surrogate pair is held back until the next
 * delta of its part. A half that stays alone becomes U+FFFD, as in the completion.
 */
export function createCharacterJoiner(): (event: ModelEvent) => ModelEvent[] {
  const pieces = new Map<string, Piece>()
  const flush = (isFlushed: (piece: Piece) => boolean): Delta[] =>
    [...pieces.values()].filter(isFlushed).flatMap(({ joiner, delta }) => shown(delta, joiner.end()))
  return (event) => {
    if (event.type === 'completion')
      return [...flush(() => true), { type: 'completion', completion: wellFormedCompletion(event.completion) }]
    const name = event.type === 'tool_call.delta' ? `call ${event.sequence}` : `${event.type} ${event.part}`
    const known = pieces.get(name)
    // A text ends when another part begins. The half that was held back must be emitted before that part.
    const ended = known === undefined ? flush(({ delta }) => delta.type !== 'tool_call.delta') : []
    const piece = known ?? { joiner: createPieceJoiner({ isJson: event.type === 'tool_call.delta' }), delta: event }
    piece.delta = event
    pieces.set(name, piece)
    const text = textOf(event)
    return [...ended, ...(text === '' ? [wellFormedDelta(event, '')] : shown(event, piece.joiner.take(text)))]
  }
}

const textOf = (delta: Delta): string => (delta.type === 'tool_call.delta' ? delta.arguments : delta.text)

const shown = (delta: Delta, text: string): Delta[] => (text === '' ? [] : [wellFormedDelta(delta, text)])

const wellFormedDelta = (delta: Delta, text: string): Delta =>
  delta.type === 'tool_call.delta'
    ? {
        ...delta,
        toolCallId: delta.toolCallId.toWellFormed(),
        toolName: delta.toolName.toWellFormed(),
        arguments: text,
      }
    : { ...delta, text }

function wellFormedCompletion(completion: Completion): Completion {
  const parts = completion.parts.map((part): AssistantPart => {
    if (part.type === 'tool_call') return { ...part, id: part.id.toWellFormed() }
    return 'text' in part ? { ...part, text: part.text.toWellFormed() } : part
  })
  const toolCalls = completion.toolCalls.map((call) => ({
    ...call,
    id: call.id.toWellFormed(),
    name: call.name.toWellFormed(),
    arguments: wellFormedJson(call.arguments),
  }))
  return { ...completion, parts, toolCalls }
}
