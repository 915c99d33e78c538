import type { HistoryDocument, HistoryHit } from '../functions/domain/history.ts'
import { pointerTo, textOf } from '../functions/domain/messages/message.ts'
import type { Message } from '../functions/domain/messages/message.ts'
import { DELEGATE_TOOL } from '../functions/domain/runs/team.ts'
import { callText } from '../functions/log/call-text.ts'
import type { HistoryIndex } from '../functions/ports/history-index.ts'
import { historyDocuments } from '../functions/search/documents/documents.ts'
import { renderEntries } from '../functions/search/documents/entries.ts'
import { withoutMarks } from '../functions/search/documents/snippet.ts'
import { readRecordedQueries } from './search-corpus.ts'

/** Number of earlier searches of each query. */
const TIMES = 3

/**
 * Kinds of searching agents. One has its own tool, one does not repeat the question, and one is a team. Other agents
 * search the history from outside, over MCP and over HTTP.
 */
export const RETELLINGS = ['alone', 'briefly', 'team', 'mcp', 'http'] as const
export type Retelling = (typeof RETELLINGS)[number]

interface Asked {
  readonly query: string
  readonly time: number
  readonly hits: readonly HistoryHit[]
  /** Final answer of the agent. */
  readonly reply: string
}

/**
 * Searches each recorded query in a separate session, in which an agent reports the hits, or reports that it found nothing.
 * Searches must not rank these texts above the real events.
 */
export async function retellings(
  tenant: string,
  index: HistoryIndex,
  ways: readonly Retelling[],
): Promise<HistoryDocument[]> {
  const documents: HistoryDocument[] = []
  for (const [number, { query }] of readRecordedQueries().entries()) {
    const { hits } = await index.search({ scope: { tenant }, text: query, filters: {}, limit: 2 })
    const reported = hits.map(({ snippet }) => withoutMarks(snippet)).join('\n')
    for (const how of ways)
      for (let time = 0; time < TIMES; time++) {
        const reply = time === 0 ? `Nothing in the earlier history matches "${query}".` : `About ${query}: ${reported}`
        const session = `${how}-${number}-${time}`
        const log = createLog(session, number * TIMES + time)
        SESSIONS[how](log, { query, time, hits, reply })
        documents.push(...log.messages.flatMap((message) => documentsOf({ tenant, session }, message)))
      }
  }
  return documents
}

const documentsOf = (key: { tenant: string; session: string }, message: Message): HistoryDocument[] =>
  historyDocuments(message, { key }, { text: textOf(message.parts), call: message.role === 'tool' ? message.call : '' })

/**
 * A session's log with one run. `searched` is set where the loop sets it (`test/agent/loop/searched-marks.test.ts`).
 */
interface Log {
  readonly messages: Message[]
  says(role: 'user' | 'assistant', text: string, more?: object): void
  calls(name: string, input: object, result: string, more?: object): string
}

function createLog(session: string, number: number): Log {
  const messages: Message[] = []
  const base = () => ({
    id: `7${String(number).padStart(22, '0')}${String(messages.length).padStart(3, '0')}`,
    runId: `run-${session}`,
    agent: 'default',
    round: 0,
    createdAt: Date.UTC(2026, 5, 1) + messages.length,
  })
  return {
    messages,
    says(role, text, more = {}) {
      const parts = [{ type: 'text' as const, text }]
      messages.push(
        role === 'user' ? { ...base(), role, parts, ...more } : { ...base(), role, parts, toolCalls: [], ...more },
      )
    },
    calls(name, input, result, more = {}) {
      const call = callText({ name, arguments: JSON.stringify(input) })
      const of = { assistantMessageId: 'a', toolCallId: `call-${messages.length}`, toolName: name, call, sequence: 0 }
      const message = base()
      const ended = { status: 'completed' as const, completedAt: message.createdAt, generation: 1 }
      messages.push({ ...message, role: 'tool', ...of, ...ended, parts: [{ type: 'text', text: result }], ...more })
      return message.id
    },
  }
}

const SEARCHED = { searched: true }
const MAX_DEPTH = 3

const SESSIONS: { readonly [how in Retelling]: (log: Log, asked: Asked) => void } = {
  alone(log, { query, reply }) {
    log.says('user', query)
    log.says('assistant', reply)
  },

  briefly(log, { query, time }) {
    const texts = [
      `Find ${query} for the lawyer.`,
      `What was ${query} in the audit?`,
      `Please look up ${query} for Lyon`,
    ]
    log.says('user', texts[time] ?? query)
    log.says('assistant', 'Yes, it was on Tuesday.', SEARCHED)
  },

  /**
   * The depth of the searching member grows with `time`, from one to three. At the last `time`, two more members search at depth
   * one.
   */
  team(log, { query, time, reply }) {
    const texts = [query, `Ask the researcher about ${query}`, `delegate "what was ${query}" to the researcher`]
    log.says('user', texts[time] ?? query)
    const others = time === MAX_DEPTH - 1 ? 2 : 0
    for (let member = 0; member <= others; member++) delegate(log, { query, reply, depth: member === 0 ? time + 1 : 1 })
    log.says('assistant', reply, SEARCHED)
  },

  /** Searches with the search tool under another name. */
  mcp(log, { query, time, hits, reply }) {
    const texts = [query, `What do we know about ${query}?`, `Look for ${query}`]
    log.says('user', texts[time] ?? query)
    const entries = hits.map((hit) => ({ ...hit, text: withoutMarks(hit.snippet) }))
    const found = entries.length > 0 ? renderEntries(entries) : `Nothing in the history matches "${query}".`
    if (time < 2) log.calls('mcp__memory__search_history', { query }, found)
    else delegated(log, query, reply, () => log.calls('mcp__memory__search_history', { query }, found))
    log.says('assistant', reply)
  },

  /** Searches with an HTTP tool or with the command line. */
  http(log, { query, time, hits, reply }) {
    log.says('user', time === 0 ? query : `Find ${query}`)
    const data = hits.map(({ snippet, messageId, role }) => ({
      object: 'search_hit',
      message_id: messageId,
      role,
      snippet,
    }))
    const lines = hits.map(
      ({ session, messageId, snippet }) => `12:00 · session ${session} · ${messageId}\nUSER: ${snippet}`,
    )
    const url = `http://127.0.0.1:3000/v1/search?q=${encodeURIComponent(query)}`
    if (time === 0) log.calls('http_fetch', { url }, JSON.stringify({ object: 'list', data }, null, 2))
    if (time === 1) log.calls('Bash', { command: `tooltrail search ${query}` }, lines.join('\n\n'))
    if (time === 2) delegated(log, query, reply, () => log.calls('http_fetch', { url }, JSON.stringify({ data })))
    log.says('assistant', reply)
  },
}

/** Adds a member that uses our search tool. The loop marks the messages of such a member. */
function delegate(log: Log, { query, reply, depth }: { query: string; reply: string; depth: number }): void {
  const task = `Search the history for ${query} and tell me what came of it`
  const id = log.calls(DELEGATE_TOOL, { member: 'researcher', task }, reply, SEARCHED)
  const parent = { parentToolCallId: pointerTo(id), parentMessageId: id }
  log.says('user', task, parent)
  if (depth > 1) delegate(log, { query, reply, depth: depth - 1 })
  log.says('assistant', reply, { ...parent, ...SEARCHED })
}

/** Adds a member that searches with another tool, so the loop has not marked its messages. */
function delegated(log: Log, query: string, reply: string, work: () => void): void {
  const task = `Everything that is known about ${query}`
  const id = log.calls(DELEGATE_TOOL, { member: 'researcher', task }, reply)
  const parent = { parentToolCallId: pointerTo(id), parentMessageId: id }
  log.says('user', task, parent)
  work()
  log.says('assistant', reply, parent)
}
