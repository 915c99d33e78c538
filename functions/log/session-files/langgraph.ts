import { sha256 } from '../../domain/hash.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import { graphValue, isGraphObject } from './langgraph-values.ts'
import type { GraphObject } from './langgraph-values.ts'
import { createMessages, isRecord, textIn, timeIn } from './transcript.ts'
import type { Fault, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** A row of LangGraph's table `checkpoints`: the state of a thread after a step, with all its messages. */
export interface CheckpointRow {
  /** Number of the row in the file. */
  readonly line: number
  readonly type: string
  readonly checkpoint: Uint8Array
}

/** A message, with the row and time of the first checkpoint that has it. */
interface Found {
  readonly line: number
  readonly time: string | undefined
  readonly id: string
  fields: Fields
}

const DATA_URL = /^data:([^;,]+);base64,(.+)$/su

/**
 * Reads the conversation of a thread from its checkpoints, oldest first. The conversation contains each message of the
 * checkpoints once, even if a later step removed the message from the state. A changed message is included in both
 * forms. `known`: ids of messages that another conversation has. If `known` contains all messages, the result is empty.
 */
export function readLangGraph(
  checkpoints: Iterable<CheckpointRow>,
  known: ReadonlySet<string> = new Set(),
): Transcript & { readonly ids: ReadonlySet<string>; readonly instructions: string | undefined } {
  const found = new Map<string, Found>()
  const ids = new Set<string>()
  const faults: Fault[] = []
  for (const { line, type, checkpoint } of checkpoints) {
    try {
      const value = graphValue(type, checkpoint)
      if (!isRecord(value)) throw new Error('is no checkpoint')
      const time = timeIn(value, 'ts')
      for (const { fields, said, id } of listsOf(value).flatMap(named)) {
        const before = found.get(said)
        if (before === undefined) found.set(said, { line, time, id, fields })
        else before.fields = fields
        ids.add(id)
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      faults.push({ line, reason: `the checkpoint cannot be read: ${error.message.slice(0, 200)}` })
    }
  }
  const isElsewhere = known.size > 0 && [...ids].every((id) => known.has(id))
  const all = isElsewhere ? [] : [...found.values()]
  const [first] = all
  const instructions = first !== undefined && isSystem(first) ? textOf(first.fields['content']) : undefined
  const { messages, refused } = transcribe(instructions === undefined ? all : all.slice(1))
  return { id: undefined, title: undefined, metadata: {}, messages, faults: [...faults, ...refused], ids, instructions }
}

/**
 * Adds an id and a content key to each message of a list. Messages without ids stay separate even if their contents are equal.
 */
function named(list: readonly GraphObject[]) {
  const counts = new Map<string, number>()
  return list.map(({ fields }) => {
    const texts = [fields['type'], fields['content'], fields['tool_call_id'], fields['tool_calls']]
    const text = sha256(JSON.stringify([...texts, fields['invalid_tool_calls']]))
    const count = counts.get(text) ?? 0
    counts.set(text, count + 1)
    const id = textIn(fields, 'id') ?? `${count} ${text}`
    return { fields, id, said: `${text} ${id}` }
  })
}

const isSystem = ({ fields }: Found): boolean => fields['type'] === 'system'

/** Returns the lists of messages in a state, whatever its channels are named. */
function listsOf(checkpoint: Fields): GraphObject[][] {
  const channels = checkpoint['channel_values']
  if (!isRecord(channels)) return []
  return Object.values(channels).map((value) => (Array.isArray(value) ? value.filter(isMessage) : []))
}

const isMessage = (one: unknown): one is GraphObject =>
  isGraphObject(one) && typeof one.fields['type'] === 'string' && 'content' in one.fields

function transcribe(found: readonly Found[]) {
  const messages = createMessages()
  const refused: Fault[] = []
  const versions = createVersions()
  for (const one of found) {
    const { line, time, fields } = one
    const kind = textIn(fields, 'type')
      ?.replace(/MessageChunk$/u, '')
      .toLowerCase()
    const parts = partsOf(fields['content'])
    if (kind === 'human') messages.user(line, parts, time)
    else if (kind === 'ai') {
      const usage = usageOf(fields['usage_metadata'])
      const model = isRecord(fields['response_metadata'])
        ? textIn(fields['response_metadata'], 'model_name')
        : undefined
      const { calls, given } = versions.called(one, callsOf(fields))
      for (const { id } of given) messages.unanswered(line, id)
      messages.assistant(line, one, { parts, calls, time, model, usage })
      // A checkpoint contains complete messages only.
      if (calls.length === 0) messages.ended()
    } else if (kind === 'tool') {
      const [id, failed] = [textIn(fields, 'tool_call_id') ?? '', fields['status'] === 'error']
      const again = versions.answered(one, id)
      if (again !== undefined) messages.assistant(line, one, { calls: [again], time })
      messages.result(line, { id, parts, failed, time })
    } else refused.push({ line, reason: `a ${kind ?? 'nameless'} message is left out` })
  }
  return { messages: messages.end(), refused }
}

type Call = ReturnType<typeof callsOf>[number]

/** Tracks the calls of messages that were changed. */
function createVersions() {
  /** Calls that have no result yet, by the id of their message. */
  const open = new Map<string, readonly Call[]>()
  /** Calls with a result, by call id. `of`: id of the calling message. `by`: id of the result. */
  const ended = new Map<string, { readonly call: Call; readonly of: string; readonly by: string }>()
  return {
    /**
     * Records the calls of a new or changed message. Returns the calls without a result as `calls`, and the open calls
     * of the message's previous form as `given`. The change abandons the calls in `given`.
     */
    called(
      { id }: Found,
      calls: readonly Call[],
    ): { readonly calls: readonly Call[]; readonly given: readonly Call[] } {
      const given = open.get(id) ?? []
      const hasEnded = (call: Call): boolean => {
        const before = ended.get(call.id)
        return before?.of === id && before.call.arguments === call.arguments
      }
      const left = calls.filter((call) => !hasEnded(call))
      open.delete(id)
      if (left.length > 0) open.set(id, left)
      return { calls: left, given }
    },
    /**
     * Assigns a new result to its open call and returns undefined. If a result with this id was assigned to a call before, the
     * result has changed: returns that call instead.
     */
    answered({ id }: Found, call: string): Call | undefined {
      const before = ended.get(call)
      if (before?.by === id) return before.call
      for (const [of, calls] of open) {
        const own = calls.find((one) => one.id === call)
        if (own === undefined) continue
        ended.set(call, { call: own, of, by: id })
        open.set(
          of,
          calls.filter((one) => one !== own),
        )
      }
      return undefined
    },
  }
}

const callsOf = (fields: Fields) => [
  ...recordsIn(fields, 'tool_calls').map((call) => ({
    id: textIn(call, 'id') ?? '',
    name: textIn(call, 'name') ?? 'unknown',
    arguments: JSON.stringify(call['args'] ?? {}),
  })),
  // Arguments that were not JSON are kept as the model wrote them.
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

/** Converts a content block. It has LangChain's own form, or the form of a provider whose blocks LangChain passes on. */
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
  return { mediaType, ...(data === '' ? {} : { data }), ...definedFields({ url }) }
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
