import type { JsonObject } from '../../domain/json.ts'
import { graphValue, isGraphObject } from './langgraph-values.ts'
import type { GraphObject } from './langgraph-values.ts'
import { createMessages, isRecord, textIn, timeIn } from './transcript.ts'
import type { Fault, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** A row of LangGraph's table `checkpoints`: the state of a thread after a step, with all its messages. */
export interface CheckpointRow {
  /** Its place in the file. */
  readonly line: number
  readonly type: string
  readonly checkpoint: Uint8Array
}

/** A message, where and when it came first; as the last checkpoint has it. */
interface Found {
  readonly line: number
  readonly time: string | undefined
  fields: Fields
}

const DATA_URL = /^data:([^;,]+);base64,(.+)$/su

/**
 * The conversation of a thread from its checkpoints, the oldest first: every message that any of them has, once, also if a
 * later step took it out of the state. `known`: ids of messages that are elsewhere; a conversation that has no others is left
 * empty.
 */
export function readLangGraph(
  checkpoints: Iterable<CheckpointRow>,
  known: ReadonlySet<string> = new Set(),
): Transcript & { readonly ids: ReadonlySet<string>; readonly instructions: string | undefined } {
  const found = new Map<string, Found>()
  const faults: Fault[] = []
  for (const { line, type, checkpoint } of checkpoints) {
    try {
      const value = graphValue(type, checkpoint)
      if (!isRecord(value)) throw new Error('is no checkpoint')
      const time = timeIn(value, 'ts')
      for (const { fields } of messagesOf(value)) {
        const id = textIn(fields, 'id') ?? JSON.stringify([fields['type'], fields['content'], fields['tool_call_id']])
        const before = found.get(id)
        if (before === undefined) found.set(id, { line, time, fields })
        else before.fields = fields
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      faults.push({ line, reason: `the checkpoint cannot be read: ${error.message.slice(0, 200)}` })
    }
  }
  const ids = new Set(found.keys())
  const isElsewhere = known.size > 0 && [...ids].every((id) => known.has(id))
  const all = isElsewhere ? [] : [...found.values()]
  const [first] = all
  const instructions = first !== undefined && isSystem(first) ? textOf(first.fields['content']) : undefined
  const { messages, refused } = transcribe(instructions === undefined ? all : all.slice(1))
  return { id: undefined, title: undefined, metadata: {}, messages, faults: [...faults, ...refused], ids, instructions }
}

const isSystem = ({ fields }: Found): boolean => fields['type'] === 'system'

/** The messages of a state, whatever its channels are called. */
function messagesOf(checkpoint: Fields): GraphObject[] {
  const channels = checkpoint['channel_values']
  if (!isRecord(channels)) return []
  const lists = Object.values(channels).filter((value) => Array.isArray(value))
  return lists
    .flat()
    .filter(
      (one) => isGraphObject(one) && typeof one.fields['type'] === 'string' && 'content' in one.fields,
    ) as GraphObject[]
}

function transcribe(found: readonly Found[]) {
  const messages = createMessages()
  const refused: Fault[] = []
  for (const one of found) {
    const { line, time, fields } = one
    const kind = textIn(fields, 'type')
      ?.replace(/MessageChunk$/u, '')
      .toLowerCase()
    if (kind === 'human') messages.user(line, partsOf(fields['content']), time)
    else if (kind === 'ai') {
      const usage = usageOf(fields['usage_metadata'])
      const model = isRecord(fields['response_metadata'])
        ? textIn(fields['response_metadata'], 'model_name')
        : undefined
      messages.assistant(line, one, { parts: partsOf(fields['content']), calls: callsOf(fields), time, model, usage })
    } else if (kind === 'tool') {
      const [id, failed] = [textIn(fields, 'tool_call_id') ?? '', fields['status'] === 'error']
      messages.result(line, { id, parts: partsOf(fields['content']), failed, time })
    } else refused.push({ line, reason: `a ${kind ?? 'nameless'} message is left out` })
  }
  return { messages: messages.end(), refused }
}

const callsOf = (fields: Fields) => [
  ...recordsIn(fields, 'tool_calls').map((call) => ({
    id: textIn(call, 'id') ?? '',
    name: textIn(call, 'name') ?? 'unknown',
    arguments: JSON.stringify(call['args'] ?? {}),
  })),
  // Arguments that were no JSON: as the model wrote them.
  ...recordsIn(fields, 'invalid_tool_calls').map((call) => ({
    id: textIn(call, 'id') ?? '',
    name: textIn(call, 'name') ?? 'unknown',
    arguments: textIn(call, 'args') ?? '',
  })),
]

function recordsIn(fields: Fields, name: string): Fields[] {
  const list = fields[name]
  return Array.isArray(list) ? list.filter(isRecord) : []
}

function textOf(content: unknown): string {
  return partsOf(content)
    .flatMap((part) => (typeof part['text'] === 'string' ? part['text'] : []))
    .join('\n')
}

function partsOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.flatMap((block: unknown) => partOf(block)) : []
}

/** A block of a content, in the forms of LangChain and of the providers that it passes on. */
function partOf(block: unknown): JsonObject[] {
  if (typeof block === 'string') return partsOf(block)
  if (!isRecord(block)) return []
  const [type, text] = [textIn(block, 'type'), textIn(block, 'text')]
  if (type === 'text') return text === undefined ? [] : [{ type: 'text', text }]
  const thought = textIn(block, 'thinking') ?? textIn(block, 'reasoning')
  if (thought !== undefined) return [{ type: 'reasoning', text: thought }]
  const { data, mediaType, url } = mediaOf(block)
  if (data !== undefined)
    return [{ type: mediaType.startsWith('image/') ? 'image' : 'file', media_type: mediaType, data }]
  return url === undefined ? [] : [{ type: 'text', text: `[${type ?? 'file'}: ${url.slice(0, 4_096)}]` }]
}

function mediaOf(block: Fields): { readonly data?: string; readonly mediaType: string; readonly url?: string } {
  const source = isRecord(block['source']) ? block['source'] : block
  const image = isRecord(block['image_url']) ? textIn(block['image_url'], 'url') : textIn(block, 'image_url')
  const url = image ?? textIn(source, 'url')
  const [, ofUrl, inUrl] = DATA_URL.exec(url ?? '') ?? []
  const bytes = inUrl ?? textIn(source, 'base64') ?? textIn(source, 'data')
  const mediaType = ofUrl ?? textIn(source, 'mime_type') ?? textIn(source, 'media_type') ?? 'application/octet-stream'
  const data = bytes === undefined ? '' : Buffer.from(bytes, 'base64').toString('base64')
  return { mediaType, ...(data === '' ? {} : { data }), ...(url === undefined ? {} : { url }) }
}

const count = (value: unknown): number => (Number.isInteger(value) && Number(value) >= 0 ? Number(value) : 0)

function usageOf(usage: unknown): JsonObject | undefined {
  if (!isRecord(usage)) return undefined
  const details = isRecord(usage['input_token_details']) ? usage['input_token_details'] : {}
  const [input, output] = [count(usage['input_tokens']), count(usage['output_tokens'])]
  return {
    input_tokens: input,
    cached_input_tokens: count(details['cache_read']),
    cache_write_tokens: count(details['cache_creation']),
    output_tokens: output,
    total_tokens: input + output,
  }
}
