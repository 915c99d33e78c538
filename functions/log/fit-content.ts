import { hash } from 'node:crypto'
import type { Policies } from '../domain/agent.ts'
import type { MediaPart, Output, ToolPart } from '../domain/message.ts'
import { encodeOutput } from './output-encoding.ts'

export interface FittedContent {
  /** What the row keeps: the text, or its preview. */
  readonly parts: readonly ToolPart[]
  readonly output: Output
  /** What must be in the output store before the row is written. */
  readonly object?: { readonly name: string; readonly bytes: Uint8Array; readonly mediaType: string }
}

/**
 * A tool result's content as its row will keep it: whole, or above the policy's limit as a preview with a pointer. Every kind
 * of tool content passes here (promises O1). `attempt` keeps the objects of two executions of one call apart.
 */
export function fitContent(
  at: { readonly messageId: string; readonly attempt: string },
  content: { readonly text: string; readonly mediaType?: string; readonly media?: readonly MediaPart[] },
  policies: Pick<Policies, 'offloadBytes' | 'previewChars'>,
): FittedContent {
  const { bytes, mediaType } = encodeOutput(content.text, content.mediaType ?? 'text/plain; charset=utf-8')
  const media = content.media ?? []
  const output = {
    bytes: bytes.length,
    lines: countLines(content.text),
    sha256: hash('sha256', bytes),
    mediaType,
  }
  if (Buffer.byteLength(content.text) <= policies.offloadBytes)
    return { parts: content.text === '' ? media : [{ type: 'text', text: content.text }, ...media], output }
  const name = `${at.messageId}.${at.attempt}`
  const pointer = `[Full output: output:${at.messageId}, ${formatBytes(output.bytes)}, ${formatCount(output.lines)} lines]`
  const text = `${firstCodePoints(content.text, policies.previewChars)}\n\n${pointer}`
  return {
    parts: [{ type: 'text', text }, ...media],
    output: { ...output, object: name },
    object: { name, bytes, mediaType },
  }
}

function firstCodePoints(text: string, count: number): string {
  return Array.from(text.slice(0, count * 2))
    .slice(0, count)
    .join('')
}

/** Lines as an editor counts them: a newline at the end starts no further line. */
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
