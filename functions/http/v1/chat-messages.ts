import { attachMedia, instructionsOf } from '../../agent/loop/model-request.ts'
import { isLeaders } from '../../domain/message.ts'
import type { Message } from '../../domain/message.ts'
import type { RequestMedia, RequestMessage } from '../../domain/model-request.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { toOpenAiMessages } from '../../log/openai-format.ts'
import type { OpenAiMessage } from '../../log/openai-format.ts'
import { replayEach } from '../../log/replay.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { AppDependencies } from '../dependencies.ts'
import { MOST_BYTES } from './page-bytes.ts'
import { cursorNotFound } from './page-cursor.ts'
import type { ChatPosition } from './page-cursor.ts'

/** Messages of the log that are read at a time at the most. */
const PAGE = 500

interface ChatPage {
  readonly messages: OpenAiMessage[]
  /** Where the next page begins; undefined after the last. */
  readonly next: ChatPosition | undefined
}

/**
 * A page of a session's log as Chat Completions messages, as the next request of its latest run would hold them
 * (promises R6): the system message first where there are instructions. Reads what the page needs, however long the log is.
 */
export async function chatMessages(
  { reader, outputs, agents }: AppDependencies,
  session: Session,
  from: ChatPosition | undefined,
  limit: number,
): Promise<ChatPage> {
  const instructions = from === undefined ? instructionsOf(session, agents.get(session.agent)) : undefined
  const wanted = instructions === undefined ? limit : limit - 1
  const found: { readonly request: RequestMessage; readonly at: ChatPosition }[] = []
  let bytes = 0
  let room = wanted
  for await (const { id, sent } of replayFrom(reader, session, from?.id, Math.min(PAGE, limit + 1))) {
    const skipped = id === from?.id ? from.skip : 0
    for (const [index, request] of sent.slice(skipped).entries()) {
      bytes += await bytesOf(outputs, session, request)
      if (found.length > 0 && found.length < room && bytes > MOST_BYTES) room = found.length
      found.push({ request, at: { id, skip: skipped + index } })
    }
    if (found.length > room) break
  }
  const page = found.slice(0, room).map(({ request }) => request)
  return {
    messages: toOpenAiMessages(await attachMedia(page, session, outputs), instructions),
    next: found[room]?.at,
  }
}

/** What each message from this one on becomes in a request, in order; read as it is asked for. */
async function* replayFrom(
  reader: LogReader,
  key: SessionKey,
  from: string | undefined,
  pageSize: number,
): AsyncGenerator<{ readonly id: string; readonly sent: readonly RequestMessage[] }> {
  const turn = createTurnFinder(reader, key)
  let part = from === undefined ? [] : [await requireMessage(reader, key, from)]
  for (let more = true; more;) {
    const last = part.at(-1)?.id
    const page = await reader.messages(key, {
      order: 'ascending',
      limit: pageSize,
      mostCharacters: MOST_BYTES,
      ...(last === undefined ? {} : { after: last }),
    })
    part.push(...page.messages)
    more = page.more
    // What becomes of a message shows only with its results and the message after it.
    const open = more ? part.findLastIndex(isOwn) : part.length
    if (open <= 0) continue
    const options = { replay: 'full', ...(await turn.optionsFor(part)) } as const
    const replayed = replayEach(part.slice(0, open + 1), options)
    for (const { message, sent } of more ? replayed.slice(0, -1) : replayed) yield { id: message.id, sent }
    part = part.slice(open)
  }
}

/** Finds where the log's last turn begins, the one with its media, and only when there are media to tell. */
function createTurnFinder(
  reader: LogReader,
  key: SessionKey,
): { optionsFor(part: readonly Message[]): Promise<{ currentRun: string; currentFrom: string }> } {
  let currentRun: string | undefined
  let currentFrom: string | undefined
  return {
    async optionsFor(part) {
      currentRun ??= (await reader.messages(key, { order: 'descending', limit: 1 })).messages[0]?.runId ?? ''
      if (currentFrom === undefined && part.some(hasMedia)) currentFrom = await beginningOfLastTurn(reader, key)
      return { currentRun, currentFrom: currentFrom ?? AFTER_ALL }
    },
  }
}

/** Greater than any id. */
const AFTER_ALL = 'Z'

async function beginningOfLastTurn(reader: LogReader, key: SessionKey): Promise<string> {
  let first: Message | undefined
  for (let before: string | undefined; ;) {
    const page = await reader.messages(key, {
      order: 'descending',
      limit: PAGE,
      mostCharacters: MOST_BYTES,
      roles: ['user', 'assistant'],
      ...(before === undefined ? {} : { before }),
    })
    for (const message of page.messages.filter(isOwn)) {
      if (first?.role === 'user' && first.runId !== message.runId) return first.id
      first = message
    }
    before = page.messages.at(-1)?.id
    if (!page.more || before === undefined) return first?.id ?? AFTER_ALL
  }
}

async function requireMessage(reader: LogReader, key: SessionKey, id: string): Promise<Message> {
  const message = await reader.message(key, id)
  if (message === undefined || !isOwn(message)) throw cursorNotFound()
  return message
}

/** A message of the conversation itself, not a result and not a team member's. */
const isOwn = (message: Message): boolean => message.role !== 'tool' && isLeaders(message)

const hasMedia = (message: Message): boolean => message.parts.some(isMedia)

/** As it will stand in the page: media as base64. */
async function bytesOf(outputs: OutputStore, key: SessionKey, { parts }: RequestMessage): Promise<number> {
  let bytes = 0
  for (const part of parts)
    if (isMedia(part)) bytes += Math.ceil(((await outputs.stat(key, part.id))?.bytes ?? 0) / 3) * 4
    else bytes += Buffer.byteLength(JSON.stringify(part))
  return bytes
}

const isMedia = (part: { type: string }): part is RequestMedia => part.type === 'image' || part.type === 'file'
