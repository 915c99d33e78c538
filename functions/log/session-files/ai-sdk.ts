import type { JsonObject } from '../../domain/json.ts'
import { faultOfUiMessage } from './damaged-messages.ts'
import { createMessages, isRecord, placeOf, textIn, timeIn } from './transcript.ts'
import type { Fault, FileLine, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

const DATA_URL = /^data:([^;,]+);base64,(.+)$/su

/**
 * Reads a conversation of the AI SDK: UIMessages with their parts. Each step of an assistant message becomes a
 * completion.
 */
export function readAiSdk(lines: Iterable<FileLine>): Transcript {
  const messages = createMessages()
  const faults: Fault[] = []
  const all = [...lines]
  for (const [line, { value, ...place }] of all.entries()) {
    if (!isRecord(value)) continue
    const reason = faultOfUiMessage(value)
    if (reason !== undefined) faults.push({ ...place, reason })
    if (value['role'] !== 'user' && value['role'] !== 'assistant') continue
    const parts = Array.isArray(value['parts']) ? value['parts'].filter(isRecord) : []
    const time = timeIn(value, 'createdAt')
    if (value['role'] === 'user') {
      messages.user(line, parts.flatMap(contentOf), time)
      continue
    }
    for (const step of stepsOf(parts)) {
      for (const part of step) {
        const call = callOf(part)
        const piece = call === undefined ? { parts: spokenOf(part) } : { calls: [call] }
        messages.assistant(line, step, { ...piece, time })
      }
      for (const part of step) {
        const [call, result] = [callOf(part), resultOf(part)]
        if (call !== undefined && result !== undefined) messages.result(line, { id: call.id, ...result, time })
      }
    }
  }
  const placed = messages.end().map((one) => ({ ...one, ...placeOf(all[one.line] ?? one) }))
  return { id: undefined, title: undefined, metadata: {}, messages: placed, faults }
}

function stepsOf(parts: readonly Fields[]): Fields[][] {
  const steps: Fields[][] = [[]]
  for (const part of parts)
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  return steps
}

function spokenOf(part: Fields): readonly JsonObject[] {
  const [type, text] = [part['type'], textIn(part, 'text')]
  return (type === 'text' || type === 'reasoning') && text !== undefined ? [{ type, text }] : []
}

function callOf(part: Fields): { readonly id: string; readonly name: string; readonly arguments: string } | undefined {
  const type = textIn(part, 'type') ?? ''
  const name = type === 'dynamic-tool' ? textIn(part, 'toolName') : /^tool-(.+)$/u.exec(type)?.[1]
  const id = textIn(part, 'toolCallId')
  if (name === undefined || id === undefined) return undefined
  return { id, name, arguments: JSON.stringify(part['input'] ?? {}) }
}

function resultOf(part: Fields): { readonly parts: JsonObject[]; readonly failed: boolean } | undefined {
  if (part['state'] === 'output-error')
    return { parts: [{ type: 'text', text: textIn(part, 'errorText') ?? 'error' }], failed: true }
  if (part['state'] !== 'output-available') return undefined
  const output = part['output']
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null)
  return { parts: text === '' ? [] : [{ type: 'text', text }], failed: false }
}

function contentOf(part: Fields): JsonObject[] {
  const text = textIn(part, 'text')
  if (part['type'] === 'text') return text === undefined ? [] : [{ type: 'text', text }]
  const url = textIn(part, 'url')
  if (part['type'] !== 'file' || url === undefined) return []
  const [, type, data = ''] = DATA_URL.exec(url) ?? []
  const clean = Buffer.from(data, 'base64').toString('base64')
  if (type === undefined || clean === '') return [{ type: 'text', text: `[file: ${url.slice(0, 4_096)}]` }]
  return [{ type: type.startsWith('image/') ? 'image' : 'file', media_type: type, data: clean }]
}
