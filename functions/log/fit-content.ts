import { sha256 } from '../domain/hash.ts'
import type { Policies } from '../domain/agent.ts'
import { definedFields } from '../domain/defined-fields.ts'
import type { Json } from '../domain/json.ts'
import { pointerTo } from '../domain/messages/message.ts'
import type { MediaPart, Output, ToolPart } from '../domain/messages/message.ts'
import type { StoredSource } from '../domain/messages/message.ts'
import type { Source } from '../domain/messages/source.ts'
import { encodeOutput } from './formats/output-encoding.ts'

export interface FittedContent {
  /** The content of the row: the text, or its preview. */
  readonly parts: readonly ToolPart[]
  readonly output: Output
  readonly sources?: readonly StoredSource[]
  /** Objects that must be in the output store before the row is written. */
  readonly objects: readonly StoredObject[]
}

interface StoredObject {
  readonly name: string
  readonly bytes: Uint8Array
  readonly mediaType: string
}

type Limits = Pick<Policies, 'offloadBytes' | 'previewChars'>
interface Place {
  readonly messageId: string
  readonly attempt: string
}

/**
 * Fits a tool result's content into a row. Content within the policy's limit is stored whole. Longer content becomes a
 * preview with a pointer. The content of every tool result passes through this function (promises O1). `attempt` is
 * part of the objects' names, so that two executions of one call never share an object.
 */
export function fitContent(
  at: Place,
  content: {
    readonly text: string
    readonly mediaType?: string
    readonly media?: readonly MediaPart[]
    readonly sources?: readonly Source[]
    readonly data?: Json
  },
  limits: Limits,
): FittedContent {
  const media = content.media ?? []
  const named = { name: `${at.messageId}.${at.attempt}`, pointer: pointerTo(at.messageId), what: 'output' } as const
  const own = fitText(named, content.text, content.mediaType ?? PLAIN, limits)
  const text: ToolPart[] = own.text === '' ? [] : [{ type: 'text', text: own.text }]
  const data = fitData(content.data, limits.offloadBytes - Buffer.byteLength(own.text))
  const parts = [...text, ...data, ...media]
  if (content.sources === undefined || content.sources.length === 0)
    return { parts, output: own.output, objects: own.objects }
  const maxBytes = limits.offloadBytes - Buffer.byteLength(own.text)
  const { sources, objects } = fitSources(at, content.sources, maxBytes, limits)
  return { parts, output: own.output, sources, objects: [...own.objects, ...objects] }
}

/** Drops data that exceed the row's limit. Nothing is lost, because the text has the same content. */
function fitData(data: Json | undefined, maxBytes: number): ToolPart[] {
  return data !== undefined && Buffer.byteLength(JSON.stringify(data)) <= maxBytes ? [{ type: 'data', data }] : []
}

const PLAIN = 'text/plain; charset=utf-8'

interface FittedText {
  /** The text, or its preview. */
  readonly text: string
  readonly output: Output
  readonly objects: readonly StoredObject[]
}

function fitText(
  { name, pointer, what }: { readonly name: string; readonly pointer: string; readonly what: 'output' | 'text' },
  text: string,
  declared: string,
  { offloadBytes, previewChars }: Limits,
): FittedText {
  const { bytes, mediaType } = encodeOutput(text, declared)
  const output = { bytes: bytes.length, lines: countLines(text), sha256: sha256(bytes), mediaType }
  if (Buffer.byteLength(text) <= offloadBytes) return { text, output, objects: [] }
  const where = `[Full ${what}: ${pointer}, ${formatBytes(output.bytes)}, ${formatCount(output.lines)} lines]`
  return {
    text: `${firstCodePoints(text, previewChars)}\n\n${where}`,
    output: { ...output, object: name },
    objects: [{ name, bytes, mediaType }],
  }
}

/**
 * Fits the texts of sources into the row. The texts share one limit with the result's own text. A text that does not
 * fit is offloaded.
 */
function fitSources(
  at: Place,
  sources: readonly Source[],
  maxBytes: number,
  limits: Limits,
): { readonly sources: StoredSource[]; readonly objects: StoredObject[] } {
  const objects: StoredObject[] = []
  let left = maxBytes
  const fitted = sources.map(({ title, url, text, id }, place): StoredSource => {
    const source = { title, ...definedFields({ url, id }) }
    if (text === undefined) return source
    const pointer = pointerTo(`${at.messageId}.${place + 1}`)
    const named = { name: `${at.messageId}.${at.attempt}.s${place + 1}`, pointer, what: 'text' } as const
    // Texts up to the length of a preview always stay in the row.
    const offloadBytes = Math.max(left, limits.previewChars)
    const own = fitText(named, text, PLAIN, { ...limits, offloadBytes })
    left -= Buffer.byteLength(own.text)
    objects.push(...own.objects)
    return { ...source, text: own.text, ...(own.objects.length === 0 ? {} : { output: own.output }) }
  })
  return { sources: fitted, objects }
}

function firstCodePoints(text: string, count: number): string {
  return Array.from(text.slice(0, count * 2))
    .slice(0, count)
    .join('')
}

/** Counts lines as an editor does: a newline at the end starts no further line. */
function countLines(text: string): number {
  if (text === '') return 0
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < text.length - 1; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

function formatBytes(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}
