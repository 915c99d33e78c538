import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

export type RecordedPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

export interface RecordedCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface RecordedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content?: string | null | readonly RecordedPart[]
  readonly tool_calls?: readonly RecordedCall[] | null
  readonly tool_call_id?: string
}

export interface Conversation {
  readonly id: string
  readonly messages: readonly RecordedMessage[]
}

export interface KnownItemQuery {
  readonly id: string
  readonly query: string
  readonly kind: string
  readonly style: string
  readonly relevant_calls: readonly {
    readonly conversation_id: string
    readonly tool_call_id: string
    readonly call_index: number
  }[]
}

const FOLDER = new URL('../../../../shared/data/', import.meta.url)

/** Whether the recorded conversations are available beside the repository. */
export const haveTranscripts = existsSync(new URL('transcripts.jsonl.gz', FOLDER))

/** The recorded conversations. */
export const readConversations = (): Conversation[] =>
  lines(gunzipSync(readFileSync(new URL('transcripts.jsonl.gz', FOLDER)))) as Conversation[]

/** The record's id in the form of a session id. */
export const sessionOf = ({ id }: Conversation): string => id.replaceAll(/[^A-Za-z0-9._:-]/g, '_')

/** The known-item searches over the recorded conversations. */
export const readQueries = (): KnownItemQuery[] =>
  lines(readFileSync(new URL('queries.jsonl', FOLDER))) as KnownItemQuery[]

function lines(bytes: Uint8Array): unknown[] {
  const text = Buffer.from(bytes).toString('utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}

export const callsOf = (message: RecordedMessage | undefined): readonly RecordedCall[] => message?.tool_calls ?? []

/** Returns the parts of a content; empty if it is not a list. */
export const listOf = ({ content }: RecordedMessage): readonly RecordedPart[] =>
  typeof content === 'object' && content !== null ? content : []

/** Returns a content as one text; undefined if it has parts other than text. */
export function plainText(message: RecordedMessage): string | undefined {
  const { content } = message
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (content.some((part) => part.type !== 'text')) return undefined
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The results of the calls of message `at`: tool messages of the same turn, up to the next call with the same id. */
export function resultsOf(conversation: Conversation, at: number): Map<string, number> {
  const { messages } = conversation
  const open = new Set(callsOf(messages[at]).map((call) => call.id))
  const results = new Map<string, number>()
  for (let index = at + 1; index < messages.length && open.size > 0; index++) {
    const message = messages[index]
    if (message?.role === 'user') break
    if (message?.role === 'tool' && open.delete(message.tool_call_id ?? ''))
      results.set(message.tool_call_id ?? '', index)
    for (const call of callsOf(message)) open.delete(call.id)
  }
  return results
}

/**
 * Tool messages after the completion `at` that name no call of the conversation, up to the next completion with calls.
 */
export function strayResultsAfter({ messages }: Conversation, at: number): RecordedMessage[] {
  const ids = new Set(messages.flatMap((message) => callsOf(message).map((call) => call.id)))
  const end = messages.findIndex((message, index) => index > at && callsOf(message).length > 0)
  return messages
    .slice(at + 1, end === -1 ? undefined : end)
    .filter((message) => message.role === 'tool' && !ids.has(message.tool_call_id ?? ''))
}

/** Finds repeated results of calls of the completion at `at`: all results of a call except its first. */
export function furtherResultsOf(conversation: Conversation, at: number): RecordedMessage[] {
  const results = resultsOf(conversation, at)
  const further: RecordedMessage[] = []
  for (let index = at + 1; conversation.messages[index]?.role === 'tool'; index++) {
    const message = conversation.messages[index]
    const first = results.get(message?.tool_call_id ?? '')
    if (message !== undefined && first !== undefined && first !== index) further.push(message)
  }
  return further
}

/** Shapes of a conversation that the API cannot reproduce. Empty for most conversations. */
export function shapesBeyondTheApi(conversation: Conversation): string[] {
  const { messages } = conversation
  const found = new Set<string>()
  const first = messages.findIndex((message) => message.role !== 'system')
  if (messages[first]?.role !== 'user') found.add('leading assistant')
  for (const [index, message] of messages.entries()) {
    if (message.role === 'system' && index >= Math.max(first, 1)) found.add('late system message')
    if (message.role === 'assistant' && messages[index - 1]?.role === 'assistant') found.add('two completions in a row')
    if (strayResultsAfter(conversation, index).length > 0) found.add('result without a call')
  }
  return [...found]
}

/** Odd features of a conversation, by the names of the table in `docs/assurance/recorded-conversations.md`. */
export function oddKinds(conversation: Conversation): string[] {
  const { messages } = conversation
  const found = new Set<string>(shapesBeyondTheApi(conversation))
  const ids = messages.flatMap((message) => callsOf(message).map((call) => call.id))
  if (messages[0]?.role === 'system') found.add('leading system message')
  if (new Set(ids).size < ids.length) found.add('repeated call ids')
  if (messages.at(-1)?.role === 'user') found.add('ends with the user')
  if (messages.at(-1)?.role === 'tool') found.add('ends with a tool result')
  for (const [index, message] of messages.entries()) addKinds(found, conversation, index, message)
  return [...found]
}

function addKinds(found: Set<string>, conversation: Conversation, index: number, message: RecordedMessage): void {
  const before = conversation.messages[index - 1]
  const text = plainText(message)
  if (listOf(message).length > 0 && text !== undefined) found.add('content as a list of one text')
  if (text === undefined) found.add(`images in a ${message.role} message`)
  if (message.role === 'user' && before?.role === 'user') found.add('two inputs in a row')
  if (message.role === 'user' && before?.role === 'tool') found.add('input after a tool result')
  if (message.role === 'tool' && text === '') found.add('empty tool result')
  if (text !== undefined && message.role === 'tool' && Buffer.byteLength(text) > 51_200) found.add('result above 50 KB')
  if (message.role !== 'assistant') return
  const calls = callsOf(message)
  const results = resultsOf(conversation, index)
  if (calls.length === 0 && text === '') found.add('empty completion')
  if (calls.length > 0 && message.content === '') found.add('empty content beside calls')
  if (calls.length > 0 && (message.content === null || message.content === undefined))
    found.add('null content beside calls')
  if (calls.some((call) => !results.has(call.id))) found.add('call without a result')
  if (calls.length > 1) found.add('parallel calls')
  const order = [...results.values()]
  const inCallOrder = calls.flatMap((call) => results.get(call.id) ?? [])
  if (order.some((at, place) => at !== inCallOrder[place])) found.add('results in another order than the calls')
  if (furtherResultsOf(conversation, index).length > 0) found.add('several results for one call')
  if (calls.some((call) => !isJson(call.function.arguments))) found.add('malformed arguments')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return text.trim() === ''
  }
}
