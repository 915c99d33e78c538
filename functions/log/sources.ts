import type { Message, ToolMessage } from '../domain/messages/message.ts'
import type { RequestMedia, RequestText } from '../domain/model-request.ts'
import { isInRanges, rangesOf, rangesText } from '../domain/messages/number-ranges.ts'
import type { NumberRanges } from '../domain/messages/number-ranges.ts'
import type { StoredSource } from '../domain/messages/message.ts'
import { sourceHead } from '../domain/messages/source.ts'
import type { NumberedSources } from '../domain/messages/source.ts'
import { isResult } from './tool-result-text.ts'

/** Number of a result's first source, by the id of the result's message. */
export type SourceNumbers = ReadonlyMap<string, number>

/** Returns the numbers that the completions among these messages have recorded. */
export function recordedNumbers(messages: readonly Message[]): SourceNumbers {
  const numbered = messages.flatMap((one) => (one.role === 'assistant' ? (one.numbered ?? []) : []))
  return new Map(numbered.map(({ message, from }) => [message, from]))
}

/** Returns the highest source number in these entries; 0 if there are no entries. */
export const highestOf = (numbered: readonly NumberedSources[]): number =>
  numbered.reduce((highest, { from, count }) => Math.max(highest, from + count - 1), 0)

export const hasSources = (message: Message): message is ToolMessage & { readonly sources: readonly StoredSource[] } =>
  message.role === 'tool' && isResult(message) && message.sources !== undefined && message.sources.length > 0

/**
 * Numbers the sources of results that have no numbers yet, starting after `highest`. Results are numbered in the order of the
 * log: by round, then by sequence within the round. The order in which calls ended does not matter. `messages` have ascending
 * ids. `limit`: maximum number of results.
 */
export function numberSources(
  messages: readonly Message[],
  known: SourceNumbers,
  highest: number,
  limit = Infinity,
): NumberedSources[] {
  let last = highest
  let left = limit
  return messages.flatMap((message): NumberedSources[] => {
    if (left <= 0 || !hasSources(message) || known.has(message.id)) return []
    left--
    const numbered = { message: message.id, from: last + 1, count: message.sources.length }
    last += numbered.count
    return [numbered]
  })
}

/**
 * Caches rendered sources, because each request contains the results again. A reused part is the identical object, so the weight
 * that is cached for this object is found, too.
 */
const rendered = new WeakMap<readonly StoredSource[], { readonly name: string; readonly part: RequestText }>()

/** Returns a result's parts for a model. The sources follow the text. `left`: the numbers of the omitted sources. */
export function withSources(
  parts: readonly (RequestText | RequestMedia)[],
  sources: readonly StoredSource[],
  from: number,
  left: NumberRanges,
): readonly (RequestText | RequestMedia)[] {
  const [first, ...others] = parts
  const text = first?.type === 'text' ? first.text : ''
  const absent = rangesOf(sources.flatMap((_, place) => (isInRanges(left, from + place) ? [from + place] : [])))
  const name = `${from} ${rangesText(absent)}`
  let known = rendered.get(sources)
  if (known?.name !== name) {
    const lines = [...sourceLines(sources, from, absent), ...noteOn(absent)].join('\n')
    known = { name, part: { type: 'text', text: text === '' ? lines : `${text}\n\n${lines}` } }
    rendered.set(sources, known)
  }
  return [known.part, ...(first?.type === 'text' ? others : parts)]
}

const sourceLines = (sources: readonly StoredSource[], from: number, absent: NumberRanges): string[] =>
  sources.flatMap((source, place) => {
    if (isInRanges(absent, from + place)) return []
    const { text } = source
    const head = `[source${from + place}] ${sourceHead(source)}`
    return [text === undefined || text === '' ? head : `${head}\n${text}`]
  })

const noteOn = (absent: NumberRanges): string[] =>
  absent.length === 0 ? [] : [`[sources ${rangesText(absent)}: not cited, left out]`]
