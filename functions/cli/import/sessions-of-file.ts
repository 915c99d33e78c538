import type { Kind } from './kinds.ts'
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { sha256 } from '../../domain/hash.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import { readAiSdk } from '../../log/session-files/ai-sdk.ts'
import { readClaudeCode } from '../../log/session-files/claude-code.ts'
import { readCodex } from '../../log/session-files/codex.ts'
import { damagedOfClaudeCode } from '../../log/session-files/damaged-messages.ts'
import { isRecord, NEWEST_PARSER, placeOf, textIn } from '../../log/session-files/transcript.ts'
import type { Fault, FileLine, FileMessage, Transcript } from '../../log/session-files/transcript.ts'
import { filesBeside, isAgentFile, sessionIn } from './claude-code-files.ts'
import type { FilesBeside } from './claude-code-files.ts'
import { codexTitle } from './codex-titles.ts'
import { countStored, type CountedMessage, type CountOptions } from './counted-messages.ts'
import { readDocument } from './file-document.ts'
import { readLines } from './file-lines.ts'
import { plainPath } from './find-files.ts'
import { threadsOf } from './langgraph-file.ts'

/** The file extensions of each kind. */
export const ENDINGS: { readonly [kind in Kind]: readonly string[] } = {
  'claude-code': ['.jsonl'],
  codex: ['.jsonl'],
  openai: ['.jsonl', '.json'],
  'ai-sdk': ['.jsonl', '.json'],
  'langgraph-sqlite': ['.sqlite', '.sqlite3', '.db'],
  native: ['.jsonl', '.ndjson'],
}

/** A conversation of a file, as it is imported into a session. */
export interface FileSession {
  readonly id: string
  readonly format: 'native' | 'openai'
  /** Whether the conversation's file is a log that only grows at its end, even after the file was moved. */
  readonly isLog: boolean
  /**
   * The title that the conversation's program gave, or the title in one of our exports. An export also has
   * `titleSource`.
   */
  readonly title?: string
  readonly titleSource?: string
  readonly instructions?: string
  readonly metadata: JsonObject
  /** Number of stored messages, including the results added for calls without one. */
  readonly stored: number
  readonly messages: readonly CountedMessage[]
  /** This conversation as read by the first parser of its kind. */
  readonly earlier?: () => FileSession
}

export interface FileContent {
  readonly sessions: readonly FileSession[]
  readonly faults: readonly Fault[]
  /** Number of messages to leave for a later import. They are the last ones of a conversation, and may still change. */
  readonly heldBack: number
  /** The files of the conversation's sub-agents. */
  readonly agents?: FilesBeside['agents'] | undefined
}

/** Maximum time that a program takes to write all blocks of a completion, one after the other. */
const SAYING_MS = 600_000
/** Maximum time that a call stays open. It is long, because some calls wait for an approval. */
export const CALLING_MS = 24 * 3_600_000

/**
 * Reads the conversations of a session file, in groups that fit into memory. Omits unfinished messages at the end. An
 * incomplete completion counts as unfinished for ten minutes, and calls without a result for a day.
 */
export async function* contentsOfFile(kind: Kind, path: string, now: () => number): AsyncGenerator<FileContent> {
  // The time is read after the file. So a write during the read makes the file count as in use.
  const idle = async (): Promise<number> => now() - (await changedAt(path))
  if (kind === 'langgraph-sqlite')
    for (const thread of threadsOf(path)) yield contentOf([thread], { kind, path, idle: await idle(), faults: [] })
  else yield await sessionsOfLines(kind, path, idle)
}

/**
 * Returns the time of the last change, in milliseconds since 1970. SQLite writes changes to the `-wal` file first. A
 * reader may create that file too, but leaves it empty.
 */
async function changedAt(path: string): Promise<number> {
  const { size = 0, mtimeMs = 0 } = (await stat(`${path}-wal`).catch(ifMissing)) ?? {}
  return Math.max((await stat(path)).mtimeMs, size === 0 ? 0 : mtimeMs)
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error
}

type LineKind = Exclude<Kind, 'langgraph-sqlite'>

async function sessionsOfLines(kind: LineKind, path: string, idle: () => Promise<number>): Promise<FileContent> {
  const read = kind === 'openai' || kind === 'ai-sdk' ? await readDocument(path) : await readLines(path)
  const lines = read.lines.filter(({ value }) => isRecord(value))
  const odd = read.lines
    .filter(({ value }) => !isRecord(value))
    .map((one) => ({ ...placeOf(one), reason: 'is no JSON object' }))
  const faults = [...read.faults, ...odd]
  const transcripts = await transcriptsOf(kind, path, lines)
  return contentOf(transcripts, { kind, path, idle: await idle(), faults })
}

interface Around {
  readonly kind: Kind
  readonly path: string
  readonly idle: number
  readonly faults: Fault[]
}

function contentOf(read: readonly Read[], { kind, path, idle, faults }: Around): FileContent {
  const reading = {
    format: kind === 'openai' ? 'openai' : 'native',
    isLog: kind === 'claude-code' || kind === 'codex',
  } as const
  let heldBack = 0
  const sessions = read.map((one, place) => {
    const closed = withoutOpenEnd(one.messages, idle)
    heldBack += one.messages.length - closed.length
    const whole = closed.map((message) => ofProgram(kind, message))
    const { messages, stored, refused } = countStored(reading, whole)
    faults.push(...one.faults, ...refused)
    const id = `${kind}-${nameOf(kind, one, path)}${place === 0 ? '' : `-${place + 1}`}`
    const { title, titleSource, metadata, instructions, earlier } = one
    const source = { source: kind, file: resolve(path), ...metadata }
    const readEarlier =
      earlier && ((): FileSession => ({ ...session, ...earlierOf(earlier(), reading, { kind, idle }) }))
    const session: FileSession = {
      id: id.slice(0, 128),
      ...reading,
      metadata: source,
      messages,
      stored,
      ...definedFields({ title, titleSource, instructions, earlier: readEarlier }),
    }
    return session
  })
  const agents = read.find((one) => one.agents !== undefined)?.agents
  return { sessions: sessions.filter((one) => one.messages.length > 0), faults, heldBack, agents }
}

/** Returns the messages as an earlier parser reads them. Faults are reported only by the newest parser. */
const earlierOf = (
  messages: Transcript['messages'],
  reading: CountOptions,
  { kind, idle }: Pick<Around, 'kind' | 'idle'>,
) =>
  countStored(
    reading,
    withoutOpenEnd(messages, idle).map((message) => ofProgram(kind, message)),
  )

type Read = Omit<Transcript, 'metadata'> & {
  readonly metadata: JsonObject
  readonly titleSource?: string | undefined
  readonly instructions?: string | undefined
  readonly agents?: FilesBeside['agents']
  /** Returns the messages as the first parser read them. */
  readonly earlier?: () => Transcript['messages']
}

/** Kinds of files that are not written by one known program, or whose messages name their agents. */
const WITHOUT_PROGRAM = new Set<Kind>(['native', 'openai'])

/** Sets the program's name as the agent of the leader's messages. */
function ofProgram(kind: Kind, message: FileMessage): FileMessage {
  const { role, agent } = message.value
  if (WITHOUT_PROGRAM.has(kind) || role === 'user' || agent !== undefined) return message
  return { ...message, value: { agent: kind, ...message.value } }
}

async function transcriptsOf(kind: LineKind, path: string, lines: readonly FileLine[]): Promise<Read[]> {
  switch (kind) {
    case 'claude-code': {
      const beside = await filesBeside(path, lines)
      const own = isAgentFile(path) ? lines.map(asLeaders) : lines
      const read = readClaudeCode(own, beside, NEWEST_PARSER)
      const earlier = () => readClaudeCode(own, beside, 1).messages
      const parent = isAgentFile(path) ? sessionIn(lines) : undefined
      const metadata = { ...read.metadata, ...(parent !== undefined && { parent_session: parent }) }
      return [
        {
          ...read,
          metadata,
          faults: [...damagedOfClaudeCode(lines), ...beside.faults],
          agents: beside.agents,
          earlier,
        },
      ]
    }
    case 'codex': {
      const read = readCodex(lines, NEWEST_PARSER)
      const title = await codexTitle(path, read.id)
      return [{ ...read, title, earlier: () => readCodex(lines, 1).messages }]
    }
    case 'ai-sdk':
      return [readAiSdk(lines)]
    case 'openai':
      return conversations(lines)
    case 'native': {
      const [first] = lines
      const session = isRecord(first?.value) && first.value['object'] === 'session' ? first.value : undefined
      const messages = lines.slice(session === undefined ? 0 : 1).flatMap(asMessage)
      const id = session && textIn(session, 'id')
      const instructions = session && textIn(session, 'instructions')
      const title = session && textIn(session, 'title')
      const titleSource = (session && textIn(session, 'title_source')) ?? 'given'
      const metadata = isRecord(session?.['metadata']) ? (session['metadata'] as JsonObject) : {}
      return [{ id, title, titleSource, metadata, messages, faults: [], instructions }]
    }
  }
}

/** Turns a sub-agent's message into a leader's message, for a separate session. */
const asLeaders = ({ line, value }: FileLine): FileLine =>
  isRecord(value) ? { line, value: { ...value, isSidechain: false } } : { line, value }

const asMessage = ({ value, ...place }: FileLine): FileMessage[] =>
  isRecord(value) ? [{ ...place, value: value as JsonObject }] : []

/**
 * Splits a file into conversations. A line has a chat message, or a whole conversation in `messages`. All lines with
 * chat messages form one conversation.
 */
function conversations(lines: readonly FileLine[]): Read[] {
  const grouped = lines.map(({ line, at, value }) =>
    isRecord(value) && Array.isArray(value['messages'])
      ? value['messages'].map((one: unknown, place) => ({
          line,
          at: `${at === undefined ? `${line}: ` : `${at}.`}messages[${place}]`,
          value: one,
        }))
      : undefined,
  )
  const whole = grouped.flatMap((group, place) => (group === undefined ? lines.slice(place, place + 1) : []))
  const all = [...grouped.filter((group) => group !== undefined), ...(whole.length > 0 ? [whole] : [])]
  return all.map((group) => {
    const isSystem = ({ value }: FileLine): boolean =>
      isRecord(value) && (value['role'] === 'system' || value['role'] === 'developer')
    const [first] = group
    const said =
      first !== undefined && isSystem(first) && isRecord(first.value) ? textIn(first.value, 'content') : undefined
    const messages = group.slice(said === undefined ? 0 : 1).flatMap(asMessage)
    return {
      id: undefined,
      title: undefined,
      metadata: {},
      messages,
      faults: [],
      ...definedFields({ instructions: said }),
    }
  })
}

function nameOf(kind: Kind, { id }: Read, path: string): string {
  const own = kind === 'claude-code' ? basename(plainPath(path), '.jsonl') : id
  if (own !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,100}$/u.test(own)) return own
  return sha256(resolve(path)).slice(0, 16)
}

/** Removes the messages at the end that may still change. `idle`: milliseconds since the last write to the file. */
function withoutOpenEnd(messages: readonly FileMessage[], idle: number): readonly FileMessage[] {
  const marked = messages.findIndex(({ open }) => open !== undefined)
  const place = marked === -1 ? openCalls(messages) : marked
  const limit = messages[place]?.open === 'text' ? SAYING_MS : CALLING_MS
  return idle < limit && place !== -1 ? messages.slice(0, place) : messages
}

/** Returns the index of a completion at the end whose calls have no result yet; -1 if there is none. */
function openCalls(messages: readonly FileMessage[]): number {
  const last = messages.findLastIndex(
    ({ value }) => value['role'] === 'assistant' && value['parent_tool_call_id'] === undefined,
  )
  const calls = last === -1 ? undefined : messages[last]?.value['tool_calls']
  if (!Array.isArray(calls)) return -1
  const results = messages.slice(last).filter(({ value }) => isLeadersResult(value))
  return results.length < calls.length ? last : -1
}

const isLeadersResult = (value: JsonObject): boolean =>
  value['role'] === 'tool' && value['status'] !== 'running' && value['parent_tool_call_id'] === undefined
