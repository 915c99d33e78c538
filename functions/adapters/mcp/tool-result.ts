import { isJsonObject } from '../../domain/json.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Source } from '../../domain/messages/source.ts'
import { readJson, withFoldedNumbers } from '../../log/json/exact-json.ts'
import type { IncomingMedia, ToolOutput } from '../../ports/tool.ts'
import { readBlock } from './result-blocks.ts'
import type { ReadBlock } from './result-blocks.ts'

/** Maximum number of unreadable parts that the text names. */
const MAX_NAMED = 10
/** Minimum length from which a text counts as repeated if another text contains it. Shorter texts match by chance. */
const MIN_QUOTED_CHARACTERS = 20
/** Fields that describe a result without being a part of it. */
const DESCRIBING = new Set(['_meta', 'resultType', 'isError'])

/**
 * Converts a server's result: its texts, joined, and its images, sounds and files. The call ran, so the readable parts
 * of the result are used; a last line names the unreadable ones. Structured content may contain sources. It follows the
 * text, unless the text already contains this content. If the call failed, throws the text of the result, for the model
 * to read.
 */
export function toolOutput(result: unknown): ToolOutput {
  const { content, structured, isError, unreadable } = readResult(result as Json)
  const blocks = content.map(readBlock)
  const texts = blocks.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const named = [...unreadable, ...blocks.flatMap(faultOf)]
  const added = structured === undefined || hasStructured(texts, structured) ? [] : [JSON.stringify(structured)]
  const text = [...texts, ...withoutSources(added, structured), ...noteOf(named)].join('\n')
  if (isError) throw new Error(text === '' ? 'the server says that the call failed' : text)
  const media = blocks.flatMap((block): readonly IncomingMedia[] => (block.media === undefined ? [] : [block.media]))
  const sources = sourcesOf(structured)
  return {
    text,
    ...(media.length === 0 ? {} : { media }),
    ...(sources.length === 0 ? {} : { sources }),
    ...(structured === undefined ? {} : { data: structured }),
  }
}

interface ReadResult {
  readonly content: readonly Json[]
  readonly structured?: Json
  readonly isError: boolean
  readonly unreadable: readonly string[]
}

function readResult(result: Json | undefined): ReadResult {
  if (result === undefined || result === null)
    return { content: [], isError: false, unreadable: ['the result is empty'] }
  if (!isJsonObject(result)) return { ...readContent(result), isError: false }
  const { content, structuredContent: structured, isError, ...rest } = result
  const failed = isError === true || (typeof isError === 'string' && isError.toLowerCase() === 'true')
  const given = { isError: failed, ...(structured === undefined || structured === null ? {} : { structured }) }
  if (content !== undefined && content !== null) return { ...given, ...readContent(content) }
  // Without `content`, the other fields are the structured content. Servers of older protocol versions name it
  // `toolResult`.
  const others = Object.entries(rest).filter(([name, value]) => !DESCRIBING.has(name) && value !== null)
  const isNamed = 'structured' in given || others.length === 0
  return {
    content: [],
    unreadable: [],
    ...given,
    ...(isNamed ? {} : { structured: rest['toolResult'] ?? Object.fromEntries(others) }),
  }
}

function readContent(content: Json): Pick<ReadResult, 'content' | 'unreadable'> {
  if (Array.isArray(content)) return { content: content as readonly Json[], unreadable: [] }
  return { content: [content], unreadable: [] }
}

const faultOf = ({ fault }: ReadBlock, index: number): string[] =>
  fault === undefined ? [] : [`part ${index + 1} (${fault})`]

function noteOf(named: readonly string[]): string[] {
  if (named.length === 0) return []
  const more = named.length > MAX_NAMED ? `, and ${named.length - MAX_NAMED} more` : ''
  return [`[Not readable in this result: ${named.slice(0, MAX_NAMED).join(', ')}${more}]`]
}

/**
 * Whether the texts already contain the structured content. They do if one text is, or contains, the content's JSON.
 * They also do if each text is the JSON of one of the content's entries.
 */
function hasStructured(texts: readonly string[], structured: Json): boolean {
  const values = texts.map(parsed)
  const keys = isJsonObject(structured) ? Object.keys(structured) : []
  if (
    texts.length > 0 &&
    typeof structured === 'object' &&
    keys.length === 0 &&
    !(Array.isArray(structured) && structured.length > 0)
  )
    return true
  const only = keys.length === 1 ? (structured as JsonObject)[keys[0] ?? ''] : undefined
  const whole = texts.join('\n')
  const dense = denseText(whole)
  return [structured, ...(only === undefined ? [] : [only])].some((value) => {
    const json = canonical(value)
    if (
      values.some((one) => canonical(one) === json) ||
      canonical(values) === json ||
      canonical(texts as Json) === json
    )
      return true
    if (typeof value === 'string') return isWithin(value.trim(), texts)
    return typeof value === 'object' && value !== null && dense.includes(denseText(JSON.stringify(value)))
  })
}

/**
 * Whether one of the texts equals or contains the value. A short value only counts if it equals a text, because a longer text may
 * contain it by chance.
 */
const isWithin = (value: string, texts: readonly string[]): boolean =>
  texts.some((text) => text.trim() === value || (value.length >= MIN_QUOTED_CHARACTERS && text.includes(value)))

function parsed(text: string): Json {
  try {
    return readJson(text) as Json
  } catch {
    return text
  }
}

const denseText = (text: string): string => text.replaceAll(/\s+/gu, '')

/** Returns JSON with sorted property names, so that equal values have equal texts. */
const canonical = (value: Json): string =>
  JSON.stringify(withFoldedNumbers(value) ?? null, (_name, one: Json) =>
    isJsonObject(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : one,
  )

/** Removes the sources from the added JSON. The model gets sources with their numbers, so the text omits them. */
function withoutSources(added: readonly string[], structured: Json | undefined): readonly string[] {
  if (added.length === 0 || !isJsonObject(structured) || sourcesOf(structured).length === 0) return added
  const { sources: _, ...others } = structured
  return Object.keys(others).length === 0 ? [] : [JSON.stringify(others)]
}

/** Returns the sources in structured content. The loop drops invalid ones with a warning. */
function sourcesOf(structured: Json | undefined): readonly Source[] {
  const sources = isJsonObject(structured) && structured['sources']
  return Array.isArray(sources) ? (sources as unknown as readonly Source[]) : []
}
