import { sha256 } from '../../../domain/hash.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { ModelRequest, RequestMedia, RequestMessage, RequestText } from '../../../domain/model-request.ts'
import { demoAnswer } from './demo-answer.ts'
import { dividedAt, outside } from './demo-pieces.ts'

interface DemoCall {
  readonly name: string
  /** The raw text, as a model would send it. */
  readonly arguments: string
}

/** The next action of the demo model. */
export type DemoPlan =
  | { readonly kind: 'error'; readonly message: string }
  | {
      readonly kind: 'completion'
      readonly reasoning?: string
      readonly text: string
      readonly calls: readonly DemoCall[]
    }

type ToolResult = Extract<RequestMessage, { role: 'tool' }>

const NAME = 'Demo model (no real model)'
/**
 * Each phrase that the demo model understands, with what the phrase demonstrates, and its tool. A phrase is listed only
 * if the agent has the tool.
 */
const PHRASES: readonly (readonly [phrase: string, shows: string, tool?: string])[] = [
  ['what time is it in Europe/Berlin', 'a tool call', 'current_time'],
  ['search history for …', 'finds what was said and done before', 'search_history'],
  ['read output:… lines 1-20', 'reads a large output; without a pointer the newest one', 'read_output'],
  ['fetch https://…', 'fetches a page', 'http_fetch'],
  ['publish the report', 'an approval: the run is paused until you decide', 'demo_publish'],
  ['write a long report', 'a large output, of which the model is shown the beginning', 'demo_report'],
  ['cite the opening hours', 'sources, of which the completion cites one', 'demo_sources'],
  ['describe the image', 'what it is sent of your images and files'],
  ['wait 20 seconds', 'a slow call, to cancel or to steer', 'demo_wait'],
  ['fail once', 'a failure, after which `continue` succeeds'],
  ['fail model', 'a failure, each time'],
  ['fail', 'a call with broken arguments'],
  ['think about …', 'reasoning'],
  ['delegate <task> to <member>', 'a task for a member of the team', 'delegate_task_to_member'],
  ['use <tool> with {…}', 'any tool that is declared, also yours'],
  ['do A and B at once', 'several calls in one round'],
  ['do A, then B', 'several rounds'],
]
const HINT = 'Say "help" for what I understand.'
/** Maximum characters of a tool result that a completion quotes. */
const QUOTED = 600
/** Maximum characters of an input that are searched for phrases, so that a long input does not delay other requests. */
const UNDERSTOOD = 100_000

/**
 * Plans the next action, as a pure function of the request: first the calls of the last input, step by step, then a
 * text about the results.
 */
export function planDemo(request: ModelRequest): DemoPlan {
  const start = request.messages.findLastIndex((message) => message.role === 'user')
  const said = textOf(request.messages[start]).trim()
  const input = said.slice(0, UNDERSTOOD)
  const since = request.messages.slice(start + 1)
  if (/^fail(?:ing)? (?:the )?model\b/i.test(input))
    return { kind: 'error', message: 'the demo model was asked to fail' }
  if (/^fail once\b/i.test(input) && request.toolChoice !== 'none' && isFirst(request))
    return { kind: 'error', message: 'the demo model was asked to fail once: continue the session' }
  const steps = dividedAt(input, /,?\s+then\s+/gi).map((step) => callsOf(step, request))
  const done = since.filter((message) => message.role === 'assistant').length
  const calls = request.toolChoice === 'none' ? [] : (steps.filter((step) => step.length > 0)[done] ?? [])
  const forced = done === 0 && calls.length === 0 ? forcedCall(request) : []
  const results = since.filter((message) => message.role === 'tool')
  const reasoning =
    /^think\b/i.test(input) && done === 0 ? { reasoning: `The input has ${said.length} characters.` } : {}
  const next = [...calls, ...forced]
  const answer = next.length > 0 ? announce(next) : report(request, input, results)
  const { responseFormat: format } = request
  const text = format === undefined || next.length > 0 ? answer : demoAnswer(format, answer)
  return { kind: 'completion', ...reasoning, text, calls: next }
}

/** Hashes of requests that have failed once. The oldest are dropped. */
const failed = new Set<string>()
const MAX_FAILED_REQUESTS = 1_000

/**
 * Whether this is the first attempt of the request. The hash of the request is kept, because the request itself does
 * not show an earlier failure.
 */
function isFirst({ messages }: ModelRequest): boolean {
  const name = sha256(JSON.stringify(messages, withoutBytes), 'base64')
  if (failed.delete(name)) return false
  for (const oldest of failed) if (failed.size >= MAX_FAILED_REQUESTS) failed.delete(oldest)
  failed.add(name)
  return true
}

const withoutBytes = (_key: string, value: unknown): unknown => (value instanceof Uint8Array ? value.length : value)

/** Returns the tools that the input names but that are not declared, without duplicates. */
const unknownTools = (input: string, { tools }: ModelRequest): string[] =>
  [
    ...new Set(Array.from(outside(input).matchAll(USED), ([, called, looks, only]) => called ?? looks ?? only ?? '')),
  ].filter((name) => !tools.some((tool) => tool.name === name))

/** Returns the calls of one step. There are several only if the step says "at once" or similar. */
function callsOf(step: string, request: ModelRequest): DemoCall[] {
  const end = outside(step).search(/\s+(?:at once|at the same time|in parallel)\W*$/i)
  const pieces = end < 0 ? [step] : dividedAt(step.slice(0, end), /\s+and\s+|\s*,\s*/gi)
  return pieces.flatMap((piece) => callOf(piece.trim(), request) ?? [])
}

function callOf(piece: string, request: ModelRequest): DemoCall | undefined {
  const call = recognise(piece, request)
  return call !== undefined && request.tools.some((tool) => tool.name === call.name) ? call : undefined
}

/**
 * Matches a tool name in a step. A name counts if "tool" precedes it, if it looks like a tool's name, or if arguments
 * in braces follow (`outside`). It also counts if the step has nothing else. "use your head" names no tool.
 */
const USED =
  /\b(?:use|call)\s+(?:the\s+)?(?:tool\s+([\w-]+)|([\w-]*[_-][\w-]*|[\w-]+(?=\s+with\s+xx)))|^\s*(?:please\s+)?use\s+([\w-]+)\W*$/gi

function recognise(piece: string, request: ModelRequest): DemoCall | undefined {
  const make = (name: string, input: object): DemoCall => ({ name, arguments: JSON.stringify(input) })
  const given = /^(?:please\s+)?delegate\s+(.+)\s+to\s+(?:the\s+)?([\w-]+)\W*$/is.exec(piece)
  if (given !== null)
    return make('delegate_task_to_member', { member: given[2], task: given[1]?.replace(/^"(.*)"$/s, '$1') ?? '' })
  const query = /\bsearch\b(?:\s+(?:the\s+|my\s+)?history)?(?:\s+for)?\s+(.+)$/is.exec(piece)?.[1]
  const search =
    query === undefined ? undefined : make('search_history', { query: query.replace(/^["']|["'.?]+$/g, '') })
  // A search is checked first, because its text may look like another request.
  if (/^(?:please\s+)?search\b/i.test(piece)) return search
  const used = /\b(?:use|call)\s+(?:the\s+)?(?:tool\s+)?([\w-]+)(?:\s+with\s+(.+))?$/is.exec(piece)
  if (used?.[1] !== undefined) return { name: used[1], arguments: used[2] ?? '{}' }
  if (/^publish\b/i.test(piece)) return make('demo_publish', { what: piece.replace(/^publish\s*/i, '') || 'it' })
  const topic = /^cite\s+(.+)$/is.exec(piece)?.[1]
  if (topic !== undefined) return make('demo_sources', { topic: topic.slice(0, 1_000) })
  if (/\b(?:long|large) (?:report|output)\b/i.test(piece)) return make('demo_report', {})
  const seconds = /^wait(?:\s+(?:for\s+)?(\d{1,2}))?\b/i.exec(piece)
  if (seconds !== null) return make('demo_wait', { seconds: Math.min(50, Number(seconds[1] ?? 20)) })
  if (/^fail once\b/i.test(piece)) return undefined
  if (/\bfail\b/i.test(piece)) return { name: request.tools[0]?.name ?? '', arguments: '{"broken": ' }
  const url = /\bfetch\s+(https?:\/\/\S+)/i.exec(piece)?.[1]
  if (url !== undefined) return make('http_fetch', { url })
  if (search !== undefined) return search
  if (/\bread\b/i.test(piece)) return readCall(piece, request)
  const zone = /\bin\s+([A-Z]\w+\/[A-Z]\w+)/.exec(piece)?.[1]
  return /\btime\b/i.test(piece) ? make('current_time', zone === undefined ? {} : { timezone: zone }) : undefined
}

/** Returns a call that reads the named pointer, or else the newest one in the request. */
function readCall(piece: string, request: ModelRequest): DemoCall | undefined {
  const pointers = /output:[0-9A-Z]{26}/g
  const named = /\boutput:[^\s,;]+/.exec(piece)?.[0]
  const pointer = named ?? request.messages.flatMap((message) => textOf(message).match(pointers) ?? []).at(-1)
  if (pointer === undefined) return undefined
  const lines = /\blines?\s+(\d+(?:\s*-\s*\d+)?)/i.exec(piece)?.[1]?.replace(/\s/g, '')
  const pattern = /\b(?:pattern|matching)\s+(\S+)/i.exec(piece)?.[1]
  return {
    name: 'read_output',
    arguments: JSON.stringify({
      pointer,
      ...definedFields({ lines, pattern }),
    }),
  }
}

function forcedCall(request: ModelRequest): DemoCall[] {
  const { toolChoice } = request
  if (typeof toolChoice === 'object') return [{ name: toolChoice.name, arguments: '{}' }]
  const first = toolChoice === 'required' ? request.tools[0] : undefined
  return first === undefined ? [] : [{ name: first.name, arguments: '{}' }]
}

function announce(calls: readonly DemoCall[]): string {
  return `${NAME}: calling ${calls.map((call) => call.name).join(' and ')}.`
}

function report(request: ModelRequest, input: string, results: readonly ToolResult[]): string {
  const lines = [
    ...unknownTools(input, request).map((name) => `- ${name} is unknown: no such tool is declared.`),
    ...results.map((result) => {
      const said = result.isError ? 'failed' : 'said'
      return `- ${result.toolName} ${said}: ${quoted(textOf(result)) || '(nothing)'}`
    }),
  ]
  if (lines.length > 0) return `${NAME}:\n${lines.join('\n')}`
  if (/^describe\b/i.test(input)) return `${NAME}: ${describeMedia(request)}`
  if (/^help\b/i.test(input)) return `${NAME}. ${help(request)}`
  if (/^fail once\b/i.test(input)) return `${NAME}: this time it succeeds.`
  return `${NAME}: you said ${JSON.stringify(shorten(input))}. ${HINT}`
}

/** Returns a result's text without its sources, and a citation of the first source. */
function quoted(text: string): string {
  const [, own = '', cited = ''] = /^([^]*?)(?:^|\n\n)(\[source\d+\]) /.exec(text) ?? []
  return cited === '' ? shorten(text) : `${shorten(own)} ${cited}`.trim()
}

/** Describes the images and files in the request: their bytes, or the note that replaces them. */
function describeMedia({ messages }: ModelRequest): string {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? [] : message.parts))
  const media = parts.filter((part) => part.type !== 'text')
  const sizes = media.map(
    ({ filename, type, mediaType, data }) => `${filename ?? type} (${mediaType}, ${data?.length ?? 0} bytes)`,
  )
  if (sizes.length > 0) return `I am sent ${sizes.join(', ')}.`
  const note = parts.findLast((part) => part.type === 'text' && part.text.startsWith('<system_note>'))
  return note?.type === 'text' ? `I am sent no bytes, but a note: ${note.text}` : 'I am sent no image and no file.'
}

function help({ tools }: ModelRequest): string {
  const phrases = PHRASES.filter(([, , name]) => name === undefined || tools.some((tool) => tool.name === name))
  return `I understand:\n${phrases.map(([phrase, shows]) => `- "${phrase}": ${shows}`).join('\n')}`
}

function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 2 * QUOTED + 2))
  return characters.length <= QUOTED ? text : `${characters.slice(0, QUOTED).join('')}…`
}

function textOf(message: RequestMessage | undefined): string {
  if (message === undefined) return ''
  const parts: readonly (RequestText | RequestMedia | { readonly type: 'reasoning' | 'tool_call' })[] = message.parts
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
