import type { WaitingCall } from '../../v1/runs/resource.ts'
import { blockId, blockItem, callItem, callOutputItem, contentPart } from './response-items.ts'
import type { Block, BlockKind, OutputItem } from './response-items.ts'

/**
 * One event of a Response's stream. Sequence numbers count characters, not chunks. So the same text has the same
 * numbers, however it was streamed. A chunk has the number of its last character. A client can resume after any number.
 * Each attempt at a completion has a range of numbers, so that a client can resume after a discarded attempt, too.
 */
export interface ResponseEvent {
  readonly type: string
  readonly sequence_number: number
  readonly [field: string]: unknown
}

/** The state of a Response's stream. */
export interface ResponseWriter {
  event(type: string, fields: object, length?: number): ResponseEvent
  /** Allocates the index of the next item. */
  place(): number
  /** The finished items. An item with text or reasoning also has its round. */
  readonly items: { readonly item: OutputItem; readonly round?: number }[]
  /** The sequence number of the next event. */
  number: number
}

export function createResponseWriter(): ResponseWriter {
  let places = 0
  const writer: ResponseWriter = {
    event(type, fields, length = 1) {
      writer.number += length
      return { type, sequence_number: writer.number - 1, ...fields }
    },
    place: () => places++,
    items: [],
    number: 0,
  }
  return writer
}

/** The events of a call. The call is sent as a whole, not streamed. */
export function callEvents(writer: ResponseWriter, call: WaitingCall): ResponseEvent[] {
  const { event } = writer
  const item = callItem(call)
  const place = writer.place()
  const of = { item_id: item.id, output_index: place }
  writer.items.push({ item })
  const { arguments: text, name } = item
  const begun = { ...item, arguments: '', status: 'in_progress' as const }
  return [
    event('response.output_item.added', { output_index: place, item: begun }),
    ...(text === '' ? [] : [event('response.function_call_arguments.delta', { ...of, delta: text }, text.length)]),
    event('response.function_call_arguments.done', { ...of, name, arguments: text }),
    event('response.output_item.done', { output_index: place, item }),
  ]
}

/** The events of a call with its result. */
export function ownCallEvents(writer: ResponseWriter, call: WaitingCall): ResponseEvent[] {
  const { event } = writer
  const events = callEvents(writer, call)
  const [item, place] = [callOutputItem(call.message), writer.place()]
  writer.items.push({ item })
  return [
    ...events,
    event('response.output_item.added', { output_index: place, item: { ...item, status: 'in_progress' } }),
    event('response.output_item.done', { output_index: place, item }),
  ]
}

/**
 * Number of sequence numbers for one attempt. An attempt with more characters can still be streamed. But a client that
 * resumes after such an attempt misses characters of the next one.
 */
const ATTEMPT_NUMBERS = 2 ** 20

/** Writes the text and reasoning of a round; one block is open at a time. */
export interface TextWriter {
  /** Begins a round with this attempt. `isShown`: whether the round belongs to this Response. */
  begin(round: { readonly round: number; readonly attempt: number }, isShown: boolean): void
  piece(kind: BlockKind, delta: string): ResponseEvent[]
  close(): ResponseEvent[]
  /** Begins another attempt. The streamed content cannot be withdrawn, but no stored item contains it. */
  discard(attempt: number): ResponseEvent[]
}

export function createTextWriter(writer: ResponseWriter, runId: () => string): TextWriter {
  const { event, items } = writer
  let open: (Block & { readonly place: number }) | undefined
  let round = { number: 0, attempt: 0, blocks: 0, begun: 0 }
  return {
    begin({ round: number, attempt }, isShown) {
      round = { number, attempt, blocks: 0, begun: writer.number }
      if (isShown) writer.number = startOf(round)
    },
    piece(kind, delta) {
      if (delta === '') return []
      const before = open?.kind === kind ? [] : closeAs('completed')
      const begun = open === undefined ? begin(kind) : []
      if (open === undefined) return before
      open = { ...open, text: open.text + delta }
      const fields = { ...placeOf(open), delta, ...moreOf(kind) }
      return [...before, ...begun, event(`response.${nameOf(kind)}.delta`, fields, delta.length)]
    },
    close: () => closeAs('completed'),
    discard(attempt) {
      const events = closeAs('incomplete')
      const kept = items.filter((one) => one.round !== round.number)
      items.splice(0, items.length, ...kept)
      round = { ...round, attempt, blocks: 0 }
      writer.number = startOf(round)
      return events
    },
  }

  function begin(kind: BlockKind): ResponseEvent[] {
    const id = blockId({ kind, runId: runId(), round: round.number, attempt: round.attempt, place: round.blocks++ })
    open = { kind, id, text: '', place: writer.place() }
    return [
      event('response.output_item.added', { output_index: open.place, item: blockItem(open, 'in_progress') }),
      event('response.content_part.added', { ...placeOf(open), part: contentPart({ kind, text: '' }) }),
    ]
  }

  function closeAs(status: 'completed' | 'incomplete'): ResponseEvent[] {
    if (open === undefined) return []
    const { place, ...block } = open
    const [of, part, item] = [placeOf(open), contentPart(block), blockItem(block, status)]
    open = undefined
    items.push({ item, round: round.number })
    return [
      event(`response.${nameOf(block.kind)}.done`, { ...of, text: block.text, ...moreOf(block.kind) }),
      event('response.content_part.done', { ...of, part }),
      event('response.output_item.done', { output_index: place, item }),
    ]
  }
}

/** The first sequence number of an attempt. `begun`: the first sequence number of the round's first attempt. */
const startOf = ({ begun, attempt }: { readonly begun: number; readonly attempt: number }): number =>
  begun + attempt * ATTEMPT_NUMBERS

const nameOf = (kind: BlockKind): string => (kind === 'text' ? 'output_text' : 'reasoning_text')
const moreOf = (kind: BlockKind): object => (kind === 'text' ? { logprobs: [] } : {})
const placeOf = ({ id, place }: { readonly id: string; readonly place: number }) => ({
  item_id: id,
  output_index: place,
  content_index: 0,
})
