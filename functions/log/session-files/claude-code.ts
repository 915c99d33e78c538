import type { JsonObject } from '../../domain/json.ts'
import { createMessages, isRecord, isText, textIn, textsIn, timeIn } from './transcript.ts'
import type { FileLine, Loop, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** What begins like this was written by the program, not by its user. */
const SCAFFOLD = /^\s*(?:<command-(?:name|message|args)>|<local-command-std(?:out|err)>|Caveat: The messages below)/u
const METADATA = { cwd: 'folder', gitBranch: 'branch', version: 'agent_version' }
/** The beginning of an output that stands in a file of its own, with the name of the file. */
const PERSISTED = /^\s*<persisted-output>[^]{0,500}?saved to: [^\n]*[/\\]([\w-][\w.-]{0,199})\s*\n/u
/** Lines that the program writes when its model has said everything, and why a model says no more. */
const AT_END = new Set(['turn_duration', 'stop_hook_summary'])
const SAID_ALL = new Set(['end_turn', 'stop_sequence', 'refusal'])
/** Tools that start a sub-agent. */
const SPAWNING = new Set(['Task', 'Agent'])

/**
 * A session of Claude Code. Its file's order counts, not its chain of parents. Lines that came before (a resumed session copies
 * them), bookkeeping and the program's own texts are left out. `beside`: the file of a sub-agent, whose messages stand behind
 * the result of the call that started it, and of an output by its name; undefined where there is none.
 */
export function readClaudeCode(lines: Iterable<FileLine>, beside: Beside): Transcript {
  const messages = createMessages()
  const seen = new Set<string>()
  const taker = createTaker(messages, seen, beside)
  const titles = createTitles()
  /** Those whose messages it has: more than one if it was copied. */
  const sessions = new Set<unknown>()
  let id: string | undefined
  let metadata: Transcript['metadata'] = {}

  for (const { line, value } of lines) {
    if (!isRecord(value)) continue
    titles.take(value)
    if (value['type'] === 'system' && AT_END.has(String(value['subtype']))) messages.ended()
    if (!isNew(value, seen)) continue
    id ??= textIn(value, 'sessionId')
    sessions.add(value['sessionId'])
    metadata = { ...textsIn(value, METADATA), ...metadata }
    taker.take(line, value)
  }
  taker.end()
  return {
    id,
    title: titles.of(sessions, seen)?.slice(0, 500).toWellFormed(),
    metadata,
    messages: messages.end(),
    faults: [],
  }
}

/** The lines that name a session, by their type, with the field that has the name; the first type that a file has counts. */
const TITLES = { 'custom-title': 'customTitle', 'ai-title': 'aiTitle', summary: 'summary' } as const

/** Collects titles: they stand anywhere in a file, and the last one of a type counts. */
function createTitles() {
  const records: Fields[] = []
  return {
    take(record: Fields): void {
      if (Object.hasOwn(TITLES, String(record['type']))) records.push(record)
    },
    /** A copied line may be about another session: a summary is about that of its `leafUuid`, the others name theirs. */
    of(sessions: ReadonlySet<unknown>, uuids: ReadonlySet<unknown>): string | undefined {
      const isOwn = ({ type, leafUuid, sessionId }: Fields): boolean =>
        type === 'summary' ? uuids.has(leafUuid) : sessionId === undefined || sessions.has(sessionId)
      const own = records.filter(isOwn)
      const titles = Object.entries(TITLES).map(([type, field]) =>
        own
          .flatMap((record) => (record['type'] === type ? [textIn(record, field)] : []))
          .findLast((text) => text?.trim()),
      )
      return titles.find((text) => text !== undefined)
    },
  }
}

interface Beside {
  agentLines(agent: string): Iterable<FileLine> | undefined
  output(name: string): string | undefined
}

/** What a sub-agent wrote, with the call that it works for. */
interface WorkLine {
  readonly line: number
  readonly record: Fields
  readonly call: string
}

/** Takes messages, with those of the sub-agents that their calls started. */
function createTaker(messages: ReturnType<typeof createMessages>, seen: Set<string>, beside: Beside) {
  const agents = createSubAgents()
  const members = createMembers(seen, beside)
  return {
    take(line: number, record: Fields): void {
      const isAside = record['isSidechain'] === true
      if (!isAside || !agents.keep(line, record)) take(line, record, isAside ? agents.loopOf('sidechain') : undefined)
    },
    end(): void {
      takeUnanswered()
      // What they wrote for calls that have no result stands at the end, until those have one.
      messages.openFrom()
      for (const agent of members.names()) takeWork(members.written(agent))
    },
  }

  function takeUnanswered(): void {
    for (const { call, line } of agents.unanswered()) {
      messages.unanswered(line, call)
      takeWork(agents.kept(call))
    }
  }

  function take(line: number, record: Fields, loop: Loop | undefined): void {
    const message = record['message']
    if (!isRecord(message) || isOwnText(record, message)) return
    const blocks = blocksOf(message['content'])
    if (record['type'] === 'assistant') {
      for (const block of blocks) agents.note(block)
      messages.assistant(line, textIn(message, 'id') ?? record['uuid'], pieceOf(record, message, blocks), loop)
      if (loop === undefined && isWhole(message, blocks)) messages.ended()
      return
    }
    for (const block of blocks) takeResult(line, record, block, loop)
    const own = ownWords(blocks)
    if (own.length === 0) return
    if (loop === undefined) takeUnanswered()
    messages.user(line, own, timeIn(record), loop)
  }

  function takeResult(line: number, record: Fields, block: Fields, loop: Loop | undefined): void {
    const call = block['type'] === 'tool_result' ? textIn(block, 'tool_use_id') : undefined
    if (call === undefined) return
    const result = record['toolUseResult']
    const agent = isRecord(result) && result['status'] !== 'async_launched' ? textIn(result, 'agentId') : undefined
    messages.result(line, { ...resultOf(block, beside), id: call, time: timeIn(record) }, loop)
    if (loop === undefined) takeWork(agents.kept(call))
    if (agent !== undefined && loop === undefined) {
      members.returned(agent, line, call)
      takeWork(members.written(agent, timeIn(record)))
    }
    agents.end(call)
  }

  function takeWork(lines: Iterable<WorkLine>): void {
    for (const { line, record, call } of lines) take(line, record, agents.loopOf(call))
  }
}

const pieceOf = (record: Fields, message: Fields, blocks: readonly Fields[]) => ({
  parts: blocks.flatMap(spokenOf),
  calls: blocks.flatMap(callOf),
  time: timeIn(record),
  model: textIn(message, 'model'),
  usage: usageOf(message['usage']),
})

/** Whether the model has said everything. */
const isWhole = (message: Fields, blocks: readonly Fields[]): boolean =>
  SAID_ALL.has(String(message['stop_reason'])) && blocks.some(({ type }) => type === 'text')

const ownWords = (blocks: readonly Fields[]): JsonObject[] =>
  blocks
    .filter(({ type }) => type !== 'tool_result')
    .flatMap(contentOf)
    .filter((part) => !isText(part, SCAFFOLD))

const resultOf = (block: Fields, beside: Beside) => ({
  parts: blocksOf(block['content']).flatMap((one) => contentOf(one).map((part) => wholeOf(part, beside))),
  failed: block['is_error'] === true,
})

/** Sub-agents that write files of their own, by their names: a later call may resume them. */
function createMembers(seen: Set<string>, beside: Beside) {
  /** The last call of each that has a result, with the result's line. */
  const calls = new Map<string, { readonly line: number; readonly call: string }>()
  return {
    names: () => calls.keys(),
    returned: (agent: string, line: number, call: string) => calls.set(agent, { line, call }),
    /** What one wrote up to this time and was not taken before, as the work for its last call. */
    *written(agent: string, until?: string): Generator<WorkLine> {
      const { line = 0, call = '' } = calls.get(agent) ?? {}
      for (const { value: record } of beside.agentLines(agent) ?? []) {
        if (!isRecord(record) || (until !== undefined && (timeIn(record) ?? until) > until)) continue
        if (isNew(record, seen)) yield { line, record, call }
      }
    },
  }
}

/** An output of which the line has the beginning alone. */
function wholeOf(part: JsonObject, beside: Beside): JsonObject {
  const name = typeof part['text'] === 'string' ? PERSISTED.exec(part['text'])?.[1] : undefined
  const text = name === undefined ? undefined : beside.output(name)
  return text === undefined ? part : { ...part, text }
}

/** The sub-agents of a session by the calls that started them. */
function createSubAgents() {
  const types = new Map<string, string>()
  /** Calls without a result. */
  const open: string[] = []
  /** In older files sub-agents write between the call that started them and its result: kept until that has come, by call. */
  const aside = new Map<string, { readonly line: number; readonly record: Fields }[]>()
  return {
    /** Takes note of a call. */
    note(block: Fields): void {
      const [call] = callOf(block)
      if (call === undefined) return
      open.push(call.id)
      const input = isRecord(block['input']) ? textIn(block['input'], 'subagent_type') : undefined
      if (SPAWNING.has(call.name)) types.set(call.id, input ?? 'subagent')
    },
    end(call: string): void {
      if (open.includes(call)) open.splice(open.indexOf(call), 1)
    },
    loopOf: (call: string): Loop => ({
      agent: (types.get(call) ?? 'subagent').slice(0, 128),
      parentToolCallId: call,
    }),
    /** Keeps what the sub-agent that was started last has written; false if none is at work. */
    keep(line: number, record: Fields): boolean {
      const call = open.findLast((one) => types.has(one))
      if (call === undefined) return false
      const records = aside.get(call) ?? []
      records.push({ line, record })
      aside.set(call, records)
      return true
    },
    /** Hands out what was kept for this call. */
    kept(call: string): WorkLine[] {
      const records = aside.get(call) ?? []
      aside.delete(call)
      return records.map((one) => ({ ...one, call }))
    },
    /** The calls for which something is kept, with its first line. */
    unanswered: () => [...aside].map(([call, [first]]) => ({ call, line: first?.line ?? 0 })),
  }
}

/** Whether a line is a message that has not come before. */
function isNew(record: Fields, seen: Set<string>): boolean {
  const uuid = textIn(record, 'uuid')
  if (uuid === undefined || seen.has(uuid)) return false
  seen.add(uuid)
  return record['type'] === 'user' || record['type'] === 'assistant'
}

/** What the program wrote in its user's or its model's name. */
const isOwnText = (record: Fields, message: Fields): boolean =>
  record['isMeta'] === true ||
  record['isCompactSummary'] === true ||
  record['isApiErrorMessage'] === true ||
  message['model'] === '<synthetic>'

function blocksOf(content: unknown): readonly Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isRecord) : []
}

function spokenOf(block: Fields): JsonObject[] {
  const text = textIn(block, 'text')
  const thinking = textIn(block, 'thinking')
  if (block['type'] === 'text' && text !== undefined) return [{ type: 'text', text }]
  return block['type'] === 'thinking' && thinking !== undefined ? [{ type: 'reasoning', text: thinking }] : []
}

function callOf(block: Fields): { readonly id: string; readonly name: string; readonly arguments: string }[] {
  const [id, name] = [textIn(block, 'id'), textIn(block, 'name')]
  if (block['type'] !== 'tool_use' || id === undefined || name === undefined) return []
  return [{ id, name, arguments: JSON.stringify(block['input'] ?? {}) }]
}

function contentOf(block: Fields): JsonObject[] {
  const text = textIn(block, 'text')
  if (block['type'] === 'text') return text === undefined ? [] : [{ type: 'text', text }]
  const source = block['source']
  if (!isRecord(source)) return []
  const [data, type] = [textIn(source, 'data'), textIn(source, 'media_type') ?? 'application/octet-stream']
  if (data === undefined || (block['type'] !== 'image' && block['type'] !== 'document')) return []
  const clean = Buffer.from(data, 'base64').toString('base64')
  return clean === '' ? [] : [{ type: block['type'] === 'image' ? 'image' : 'file', media_type: type, data: clean }]
}

const count = (value: unknown): number => (Number.isInteger(value) && Number(value) >= 0 ? Number(value) : 0)

function usageOf(usage: unknown): JsonObject | undefined {
  if (!isRecord(usage)) return undefined
  const [read, written] = [count(usage['cache_read_input_tokens']), count(usage['cache_creation_input_tokens'])]
  const [input, output] = [count(usage['input_tokens']) + read + written, count(usage['output_tokens'])]
  return {
    input_tokens: input,
    cached_input_tokens: read,
    cache_write_tokens: written,
    output_tokens: output,
    total_tokens: input + output,
  }
}
