import type { JsonObject } from '../../domain/json.ts'
import { readJson } from '../json/exact-json.ts'
import { jsonFault } from '../json/json-size.ts'
import { damagedOfCodex } from './damaged-messages.ts'
import { typedInputs } from './codex-inputs.ts'
import { createMessages, isRecord, textIn, textsIn, timeIn } from './transcript.ts'
import type { FileLine, Parser, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

const ITEMS = new Set([
  ...['message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call'],
  ...['custom_tool_call_output', 'local_shell_call', 'web_search_call'],
])
/** Types of events that end a turn. */
const AT_END = new Set(['task_complete', 'turn_complete', 'turn_aborted'])
const DATA_URL = /^data:([^;,]+);base64,(.+)$/su

/**
 * Reads a session of Codex: the items that its model saw. Omits events that were only displayed, and items that a compaction or a
 * fork copied. Two things are read from events nevertheless: a command's exit code and its whole output. In the oldest files,
 * items have no envelope, and only the first line has a time.
 */
export function readCodex(lines: readonly FileLine[], parser: Parser): Transcript {
  const messages = createMessages()
  const inputs = typedInputs(lines, parser)
  let id: string | undefined
  let model: string | undefined
  let metadata: Transcript['metadata'] = {}
  let group = 0
  let time: string | undefined
  const ends = createCommandEnds()

  for (const { line, value } of lines) {
    if (!isRecord(value)) continue
    time = timeIn(value) ?? time
    const payload = isRecord(value['payload']) ? value['payload'] : undefined
    if (value['type'] === 'session_meta' && payload !== undefined) describe(payload)
    else if (value['type'] === 'turn_context' && payload !== undefined) model = textIn(payload, 'model') ?? model
    else if (value['type'] === 'event_msg' && AT_END.has(String(payload?.['type']))) messages.ended()
    else if (value['type'] === 'event_msg') ends.note(payload)
    else if (value['type'] === 'response_item' && payload !== undefined) take(line, payload)
    else if (payload === undefined && ITEMS.has(String(value['type']))) take(line, value)
    else if (payload === undefined && value['type'] === undefined) describe(value)
  }
  return { id, title: undefined, metadata, messages: messages.end(), faults: damagedOfCodex(lines) }

  /** Reads the session's description. Only the first one in a file counts: a fork's file also has its parents'. */
  function describe(meta: Fields): void {
    if (id !== undefined) return
    id = textIn(meta, 'id')
    metadata = metadataOf(meta)
  }

  function take(line: number, item: Fields): void {
    const type = textIn(item, 'type') ?? ''
    if (type === 'message') spoken(line, item)
    else if (type === 'reasoning') assistant(line, { parts: reasoningOf(item), time })
    else if (type.endsWith('_output')) {
      const call = textIn(item, 'call_id')
      if (call !== undefined)
        messages.result(line, { id: call, ...ends.applied(call, resultOf(item['output'], parser)), time })
      group++
    } else if (type.endsWith('_call')) {
      const call = callOf(type, item, line)
      assistant(line, { calls: [call], time })
      if (type === 'web_search_call') messages.result(line, { id: call.id, parts: [], failed: false, time })
    }
  }

  function assistant(line: number, piece: Parameters<typeof messages.assistant>[2]): void {
    messages.assistant(line, group, { ...piece, model })
  }

  function spoken(line: number, item: Fields): void {
    const parts = contentsOf(item['content']).flatMap((block) => partOf(block, parser))
    if (item['role'] === 'assistant') assistant(line, { parts, time })
    if (item['role'] !== 'user') return
    group++
    const typed = inputs.typed(line, parts)
    if (typed.length > 0) messages.user(line, typed, time)
  }
}

function metadataOf(meta: Fields): Transcript['metadata'] {
  const git = isRecord(meta['git']) ? textsIn(meta['git'], { branch: 'branch' }) : {}
  const parent = isRecord(meta['source']) ? parentOf(meta['source']) : {}
  return { ...textsIn(meta, { cwd: 'folder', cli_version: 'agent_version' }), ...git, ...parent }
}

function parentOf(source: Fields): { readonly [name: string]: string } {
  const spawn = isRecord(source['subagent']) ? source['subagent']['thread_spawn'] : undefined
  return isRecord(spawn) ? textsIn(spawn, { parent_thread_id: 'parent_session' }) : {}
}

const reasoningOf = (item: Fields): JsonObject[] =>
  (Array.isArray(item['summary']) ? item['summary'].filter(isRecord) : []).flatMap((one) => {
    const text = textIn(one, 'text')
    return text === undefined ? [] : [{ type: 'reasoning', text }]
  })

function argumentsOf(item: Fields): string {
  const given = textIn(item, 'arguments')
  if (given !== undefined) return given
  const input = item['input'] ?? item['action'] ?? {}
  return JSON.stringify(typeof input === 'string' ? { input } : input)
}

interface Result {
  readonly parts: JsonObject[]
  readonly failed: boolean
}

/** Collects the exit codes and outputs of commands. Their events precede the results for the model. */
function createCommandEnds() {
  const ends = new Map<string, { readonly failed: boolean; readonly output: string }>()
  return {
    note(event: Fields = {}): void {
      if (event['type'] !== 'exec_command_end') return
      const [call, code] = [textIn(event, 'call_id'), event['exit_code']]
      const failed = typeof code === 'number' && code !== 0
      if (call !== undefined) ends.set(call, { failed, output: textIn(event, 'aggregated_output') ?? '' })
    },
    /**
     * Returns the result with the command's exit code. If the model got only a part of the output, the result has the whole
     * output.
     */
    applied(call: string, { parts, failed }: Result): Result {
      const end = ends.get(call) ?? { failed: false, output: '' }
      const shown = parts.reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0)
      const whole = end.output.length > shown ? [{ type: 'text', text: end.output }] : parts
      return { parts: whole, failed: failed || end.failed }
    },
  }
}

function callOf(type: string, item: Fields, line: number) {
  const name = textIn(item, 'name') ?? (type === 'local_shell_call' ? 'shell' : type.slice(0, -'_call'.length))
  const id = textIn(item, 'call_id') ?? textIn(item, 'id') ?? `${name}-${line}`
  return { id, name, arguments: argumentsOf(item) }
}

/** Reads a result. An output is a text, JSON with a text and an exit code, or a list of contents. */
function resultOf(output: unknown, parser: Parser): Result {
  if (Array.isArray(output))
    return { parts: output.filter(isRecord).flatMap((block) => partOf(block, parser)), failed: false }
  if (isRecord(output)) {
    const inner = resultOf(output['content'] ?? output['output'] ?? JSON.stringify(output), parser)
    return { parts: inner.parts, failed: output['success'] === false || inner.failed }
  }
  if (typeof output !== 'string' || output === '') return { parts: [], failed: false }
  const parsed = output.startsWith('{"output":') ? parsedOutput(output) : undefined
  if (parsed !== undefined) return parsed
  return { parts: [{ type: 'text', text: output }], failed: false }
}

function parsedOutput(text: string): Result | undefined {
  if (jsonFault(text) !== undefined) return undefined
  try {
    const value = readJson(text)
    if (!isRecord(value) || typeof value['output'] !== 'string') return undefined
    const meta = value['metadata']
    const failed = isRecord(meta) && typeof meta['exit_code'] === 'number' && meta['exit_code'] !== 0
    return { parts: value['output'] === '' ? [] : [{ type: 'text', text: value['output'] }], failed }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Returns the items of a content, which is a list or a plain text. */
const contentsOf = (content: unknown): Fields[] =>
  typeof content === 'string' ? [{ text: content }] : Array.isArray(content) ? content.filter(isRecord) : []

function partOf(block: Fields, parser: Parser): JsonObject[] {
  const text = textIn(block, 'text')
  if (text !== undefined) return [{ type: 'text', text }]
  const url = textIn(block, 'image_url') ?? ''
  if (parser > 1 && /^https?:/iu.test(url)) return [{ type: 'text', text: url }]
  const [, type, data = ''] = DATA_URL.exec(url) ?? []
  const clean = Buffer.from(data, 'base64').toString('base64')
  return type === undefined || clean === '' ? [] : [{ type: 'image', media_type: type, data: clean }]
}
