import type { JsonObject } from '../../domain/json.ts'
import { callOf, createSubAgents } from './claude-code-agents.ts'
import type { WorkLine } from './claude-code-agents.ts'
import {
  blocksOf,
  contentOf,
  isOfOthers,
  isProgramRecord,
  lacksContent,
  queuedInput,
  typedParts,
} from './claude-code-inputs.ts'
import { createMessages, isRecord, textIn, textsIn, timeIn } from './transcript.ts'
import type { FileLine, Loop, Parser, Transcript } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

const METADATA = { cwd: 'folder', gitBranch: 'branch', version: 'agent_version' }
/** Matches the preview of an output that is stored in a separate file. Captures the name of that file. */
const PERSISTED = /^\s*<persisted-output>[^]{0,500}?saved to: [^\n]*[/\\]([\w-][\w.-]{0,199})\s*\n/u
/** `AT_END`: types of records that follow the model's last message. `SAID_ALL`: stop reasons that end a turn. */
const AT_END = new Set(['turn_duration', 'stop_hook_summary'])
const SAID_ALL = new Set(['end_turn', 'stop_sequence', 'refusal'])
/**
 * Reads a session of Claude Code, in the order of the file. Ignores links from records to their parents. Omits
 * bookkeeping, the program's own texts, and repeated records, which a resumed session copies. `beside` reads a
 * sub-agent's file, or an output by its name; undefined if there is none. The messages of a sub-agent follow the result
 * of the call that started this sub-agent.
 */
export function readClaudeCode(lines: Iterable<FileLine>, beside: Beside, parser: Parser): Transcript {
  const messages = createMessages()
  const seen = new Set<string>()
  const taker = createTaker(messages, seen, { beside, parser })
  const titles = createTitles()
  /**
   * Ids of the sessions that the file's messages belong to. A file may contain messages that were copied from another session.
   */
  const sessions = new Set<unknown>()
  let id: string | undefined
  let metadata: Transcript['metadata'] = {}

  for (const { line, value } of lines) {
    if (!isRecord(value)) continue
    titles.take(value)
    if (value['type'] === 'system' && AT_END.has(String(value['subtype']))) messages.ended()
    if (parser > 1) taker.takeQueued(line, value)
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

/**
 * Types of records that name a session. The value is the field that contains the name. If a file has several of these
 * types, the first one in this list takes precedence.
 */
const TITLES = { 'custom-title': 'customTitle', 'ai-title': 'aiTitle', summary: 'summary' } as const

/** Collects titles. They may be anywhere in a file, and the last title of a type counts. */
function createTitles() {
  const records: Fields[] = []
  return {
    take(record: Fields): void {
      if (Object.hasOwn(TITLES, String(record['type']))) records.push(record)
    },
    /**
     * Returns the session's title. Titles in copied records may belong to other sessions. A summary names a message of its
     * session in `leafUuid`; other titles name the session's id.
     */
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

/**
 * Collects the inputs that were typed while the model worked. They are stored before the next completion, after the
 * results of open calls.
 */
function createQueuedInputs(messages: ReturnType<typeof createMessages>, seen: Set<string>) {
  const queued: { readonly line: number; readonly parts: JsonObject[]; readonly time: string | undefined }[] = []
  let completion: unknown
  const store = (): void => {
    for (const { line, parts, time } of queued.splice(0)) messages.user(line, parts, time)
  }
  return {
    take(line: number, record: Fields): void {
      const parts = queuedInput(record, seen)
      if (parts.length > 0) queued.push({ line, parts, time: timeIn(record) })
    },
    store,
    /**
     * Stores the queued inputs if the completion with this key begins now, so that the inputs precede the completion.
     */
    storeBefore(key: unknown): void {
      if (key !== completion) store()
      completion = key
    },
  }
}

interface Beside {
  agentLines(agent: string): Iterable<FileLine> | undefined
  output(name: string): string | undefined
}

interface Reading {
  readonly beside: Beside
  readonly parser: Parser
}

/** Reads messages, and the messages of the sub-agents that their calls started. */
function createTaker(messages: ReturnType<typeof createMessages>, seen: Set<string>, { beside, parser }: Reading) {
  const agents = createSubAgents()
  const members = createMembers(seen, beside)
  const queued = createQueuedInputs(messages, seen)
  return {
    take(line: number, record: Fields): void {
      const isAside = record['isSidechain'] === true
      if (!isAside || !agents.keep(line, record)) take(line, record, isAside ? agents.loopOf('sidechain') : undefined)
    },
    takeQueued: queued.take,
    end(): void {
      takeWaiting()
      // Messages of sub-agents whose calls have no result yet are placed at the end. When the result of such a call is
      // written, its sub-agent's messages move after the result.
      messages.openFrom()
      for (const agent of members.names()) takeWork(members.written(agent))
    },
  }

  function takeWaiting(): void {
    for (const { call, line } of agents.unanswered()) {
      messages.unanswered(line, call)
      takeWork(agents.kept(call))
    }
    queued.store()
  }

  function take(line: number, record: Fields, loop: Loop | undefined): void {
    const message = record['message']
    if (!isRecord(message) || isProgramRecord(record, message)) return
    const blocks = blocksOf(message['content'])
    if (record['type'] === 'assistant') {
      const key = textIn(message, 'id') ?? record['uuid']
      if (loop === undefined) queued.storeBefore(key)
      for (const block of blocks) agents.note(block)
      messages.assistant(line, key, pieceOf(record, message, blocks), loop)
      if (loop === undefined && isWhole(message, blocks)) messages.ended()
      return
    }
    for (const block of blocks) takeResult(line, record, block, loop)
    const typed = isOfOthers(record, parser) ? [] : typedParts(blocks, parser)
    if (typed.length === 0) return
    if (loop === undefined) takeWaiting()
    messages.user(line, typed, timeIn(record), loop)
  }

  function takeResult(line: number, record: Fields, block: Fields, loop: Loop | undefined): void {
    const call = block['type'] === 'tool_result' ? textIn(block, 'tool_use_id') : undefined
    if (call === undefined) return
    const agent = agentOf(record['toolUseResult'])
    messages.result(line, { ...resultOf(block, beside, parser), id: call, time: timeIn(record) }, loop)
    if (loop === undefined) takeWork(agents.kept(call))
    if (agent !== undefined && loop === undefined) takeWork(members.returned(agent, { line, call }, timeIn(record)))
    agents.end(call)
  }

  function takeWork(lines: Iterable<WorkLine>): void {
    for (const { line, record, call } of lines) take(line, record, agents.loopOf(call))
  }
}

/** Returns the sub-agent that ended with this result; undefined for one that continues in the background. */
const agentOf = (result: unknown): string | undefined =>
  isRecord(result) && result['status'] !== 'async_launched' ? textIn(result, 'agentId') : undefined

const pieceOf = (record: Fields, message: Fields, blocks: readonly Fields[]) => ({
  parts: blocks.flatMap(spokenOf),
  calls: blocks.flatMap(callOf),
  time: timeIn(record),
  model: textIn(message, 'model'),
  usage: usageOf(message['usage']),
})

/** Whether the model's turn is complete. */
const isWhole = (message: Fields, blocks: readonly Fields[]): boolean =>
  SAID_ALL.has(String(message['stop_reason'])) && blocks.some(({ type }) => type === 'text')

const resultOf = (block: Fields, beside: Beside, parser: Parser) => ({
  parts: blocksOf(block['content']).flatMap((one) => contentOf(one, parser).map((part) => wholeOf(part, beside))),
  failed: block['is_error'] === true,
})

/** Tracks sub-agents with separate files, by name. A later call may resume a sub-agent. */
function createMembers(seen: Set<string>, beside: Beside) {
  /** For each sub-agent: its last call that has a result, and the line of that result. */
  const calls = new Map<string, { readonly line: number; readonly call: string }>()
  /**
   * Yields the sub-agent's records that were not read before, up to the time `until`. They belong to the sub-agent's last call.
   */
  function* written(agent: string, until?: string): Generator<WorkLine> {
    const { line = 0, call = '' } = calls.get(agent) ?? {}
    for (const { value: record } of beside.agentLines(agent) ?? []) {
      if (!isRecord(record) || (until !== undefined && (timeIn(record) ?? until) > until)) continue
      if (isNew(record, seen)) yield { line, record, call }
    }
  }
  return {
    names: () => calls.keys(),
    written,
    /** Records the result of a sub-agent's call. Returns the sub-agent's records up to the time of the result. */
    returned(agent: string, call: { readonly line: number; readonly call: string }, time: string | undefined) {
      calls.set(agent, call)
      return written(agent, time)
    },
  }
}

/** Replaces the preview of an output by the whole output. */
function wholeOf(part: JsonObject, beside: Beside): JsonObject {
  const name = typeof part['text'] === 'string' ? PERSISTED.exec(part['text'])?.[1] : undefined
  const text = name === undefined ? undefined : beside.output(name)
  return text === undefined ? part : { ...part, text }
}

/** Whether a record is a message that was not read before. */
function isNew(record: Fields, seen: Set<string>): boolean {
  const uuid = textIn(record, 'uuid')
  if (uuid === undefined || seen.has(uuid)) return false
  // A damaged record does not use up its id: a later copy of it may be complete.
  if (!lacksContent(record)) seen.add(uuid)
  return record['type'] === 'user' || record['type'] === 'assistant'
}

function spokenOf(block: Fields): JsonObject[] {
  const text = textIn(block, 'text')
  const thinking = textIn(block, 'thinking')
  if (block['type'] === 'text' && text !== undefined) return [{ type: 'text', text }]
  return block['type'] === 'thinking' && thinking !== undefined ? [{ type: 'reasoning', text: thinking }] : []
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
