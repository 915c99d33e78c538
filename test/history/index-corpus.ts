import { createDynamoSessionStore } from '../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { present } from '../../functions/adapters/dynamodb/expressions.ts'
import { messageKey } from '../../functions/adapters/dynamodb/keys.ts'
import {
  changeMessage,
  documentsOfResult,
  putMessage,
  textOfResult,
  textsOfMessage,
} from '../../functions/adapters/dynamodb/log/messages/message-item.ts'
import {
  createSessionRows,
  type DynamoDependencies,
} from '../../functions/adapters/dynamodb/log/sessions/session-rows.ts'
import type { Action } from '../../functions/adapters/dynamodb/table.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import { textOf, type Message, type ToolMessage } from '../../functions/domain/messages/message.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { isSearched } from '../../functions/search/documents/documents.ts'

/** A time that every index refuses, so its message can never be indexed. */
const IMPOSSIBLE_TIME = 1e300
const START = 1_750_000_000_000
const OF_A_SESSION = 50
/** Number of items in one atomic write. */
const AT_ONCE = 40

export interface WrittenCorpus {
  readonly sessions: readonly SessionKey[]
  readonly messages: number
  /** Messages with text that can never be indexed: id → session. */
  readonly deadLettered: ReadonlyMap<string, string>
}

/**
 * Writes `count` messages of many sessions into the table: texts, calls that run and then end, offloaded outputs, secrets,
 * empty texts, and a few messages that every index refuses. The first message has the number `from`.
 */
export async function writeCorpus(dependencies: DynamoDependencies, count: number, from = 0): Promise<WrittenCorpus> {
  const sessions: SessionKey[] = []
  const deadLettered = new Map<string, string>()
  const store = createDynamoSessionStore(dependencies)
  const end = from + count
  for (let start = from; start < end; start += OF_A_SESSION) {
    const key = { tenant: start % 3 === 0 ? 'acme' : 'rival', session: `s-${start}` }
    await store.create({
      ...key,
      agent: 'default',
      metadata: {},
      ...(start % 2 === 0 ? { owner: `owner-${start}` } : {}),
    })
    const ids = nextIds(undefined, START + start * 1_000, Math.min(OF_A_SESSION, end - start))
    const messages = await Promise.all(ids.map((id, place) => makeMessage(dependencies, key, id, start + place)))
    for (const message of messages) if (isUnreadable(message)) deadLettered.set(message.id, key.session)
    await writeMessages(dependencies, key, messages)
    sessions.push(key)
  }
  return { sessions, messages: count, deadLettered }
}

const isUnreadable = (message: Message): boolean =>
  message.createdAt === IMPOSSIBLE_TIME &&
  isSearched(message) &&
  (message.role === 'tool' || textOf(message.parts) !== '')

async function makeMessage(
  { outputs }: DynamoDependencies,
  key: SessionKey,
  id: string,
  number: number,
): Promise<Message> {
  const createdAt = number % 331 === 7 ? IMPOSSIBLE_TIME : START + number * 1_000
  const base = { id, runId: `run-${key.session}`, agent: 'default', round: 0, createdAt }
  const text = number % 17 === 3 ? '' : `entry ${number} speaks of topic${number % 97}${secret(number)}`
  if (number % 5 < 2) return { ...base, role: 'user', parts: [{ type: 'text', text }] }
  if (number % 5 === 2) return { ...base, role: 'assistant', parts: [{ type: 'text', text }], toolCalls: [] }
  const tool: ToolMessage = {
    ...base,
    role: 'tool',
    assistantMessageId: id,
    toolCallId: `call_${number}`,
    toolName: number % 11 === 0 ? 'search_history' : 'shell',
    call: `shell(cmd="job ${number}")`,
    sequence: 0,
    status: 'completed',
    parts: [{ type: 'text', text: `result of ${text}` }],
    completedAt: createdAt,
    durationMs: 1_000,
    generation: 1,
  }
  if (number % 53 !== 0) return tool
  const content = Buffer.from(`offloaded ${number} `.repeat(1_000) + `end-of-${number}`)
  await outputs.put(key, id, content, 'text/plain')
  const output = { bytes: content.length, lines: 1, sha256: 'unused', mediaType: 'text/plain', object: id }
  return { ...tool, parts: [{ type: 'text', text: `offloaded ${number}` }], output }
}

/** Adds a fake secret to some texts. It is split, so that this file contains no text that looks like a secret. */
const secret = (number: number): string => (number % 41 === 0 ? ` with ${'ghp_'}${'a1B2'.repeat(9)}` : '')

/** Writes messages as the loop does: a call's row is written at the call's start and changed at its end. */
export async function writeMessages(
  dependencies: DynamoDependencies,
  key: SessionKey,
  messages: readonly Message[],
): Promise<void> {
  const { table, bodies } = createSessionRows(dependencies)
  const begun = messages.map((message) => (message.role === 'tool' ? running(message) : message))
  const puts = await Promise.all(
    begun.map(async (message) => putMessage(key, message, await bodies.store(key, textsOfMessage(message)))),
  )
  const ends = await Promise.all(
    messages
      .flatMap((message) => (message.role === 'tool' ? [message] : []))
      .map(async (message): Promise<Action> => {
        const [text = {}] = await bodies.store(key, [textOfResult(message.id, message)])
        const change = changeMessage({
          set: { status: message.status, ...text },
          add: { documents: documentsOfResult(message) },
        })
        return { update: messageKey(key, message.id), when: present('pk'), change }
      }),
  )
  for (const actions of [puts, ends])
    for (let start = 0; start < actions.length; start += AT_ONCE)
      await table.write(actions.slice(start, start + AT_ONCE))
}

function running({ output: _, completedAt: __, durationMs: ___, ...message }: ToolMessage): ToolMessage {
  return { ...message, status: 'running', parts: [] }
}
