import { findNumbers } from '../../../history/source-numbers.ts'
import { instructionsOf, mediaFromOf } from '../../../agent/loop/model/model-request.ts'
import type { Agent } from '../../../domain/agent.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { RequestMedia, RequestMessage, RequestText } from '../../../domain/model-request.ts'
import type { Repairs } from '../../../domain/context.ts'
import { fullModelName } from '../../../domain/model-name.ts'
import { repairsFor } from '../../../log/request/request-form.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import { toOpenAiMessages } from '../../../log/formats/openai-format.ts'
import type { OpenAiMessage } from '../../../log/formats/openai-format.ts'
import { replayEach } from '../../../log/replay.ts'
import type { ReplayOptions } from '../../../log/replay.ts'
import { hasSources, highestOf, numberSources } from '../../../log/sources.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { AppDependencies } from '../../dependencies.ts'
import { MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import { partUrl } from './resource.ts'
import { cursorNotFound } from '../page-cursor.ts'
import type { ChatPosition } from '../page-cursor.ts'

/** Messages of the log in one read. */
const PAGE = 500

interface ChatPage {
  readonly messages: OpenAiMessage[]
  /** For each message, the position of a page that starts with it; undefined for the system message. */
  readonly begins: readonly (ChatPosition | undefined)[]
  /** The position of the next page; undefined after the last one. */
  readonly next: ChatPosition | undefined
}

/**
 * Reads a page of a session's log as Chat Completions messages. These are the messages that the next request of the
 * session's latest run would contain (promises R6). If there are instructions, the system message comes first. Reads
 * only what the page needs, however long the log is.
 */
export async function chatMessages(
  { reader, agents }: AppDependencies,
  session: Session,
  from: ChatPosition | undefined,
  limit: number,
): Promise<ChatPage> {
  const agent = agents.get(session.agent)
  const instructions = from === undefined ? instructionsOf(session, agent) : undefined
  const wanted = instructions === undefined ? limit : limit - 1
  const found: { readonly request: RequestMessage; readonly at: ChatPosition }[] = []
  let length = 0
  // This list shows the whole conversation. Only requests to the model omit refused and truncated messages.
  const repairs = agent && { steps: repairsFor(await reader.context(session), agent.model).steps, omitted: [] }
  const narrowNames = repairs?.steps.includes('names') ?? false
  const pageWith = (next: ChatPosition | undefined): ChatPage => ({
    messages: toOpenAiMessages(
      found.map(({ request, at }) => withLinks(session.session, at.id, request)),
      instructions,
      { forPeople: true, narrowNames },
    ),
    begins: [...(instructions === undefined ? [] : [undefined]), ...found.map(({ at }) => at)],
    next,
  })
  const reading = { reader, agent, repairs, from: from?.id, pageSize: Math.min(PAGE, limit + 1) }
  for await (const { id, sent } of replayFrom(session, reading)) {
    const skipped = id === from?.id ? from.skip : 0
    for (const [index, request] of sent.slice(skipped).entries()) {
      const at = { id, skip: skipped + index }
      length += lengthOf(request)
      if (found.length >= wanted || (found.length > 0 && length > MAX_PAGE_BYTES)) return pageWith(at)
      found.push({ request, at })
    }
  }
  return pageWith(undefined)
}

/**
 * Length of the content, in characters. The JSON has at least as many bytes. So a message that is too long is detected without
 * building the JSON.
 */
const lengthOf = ({ parts }: RequestMessage): number =>
  parts.reduce(
    (sum, part) => sum + ('text' in part ? part.text.length : 'arguments' in part ? part.arguments.length : 0),
    0,
  )

interface Reading {
  readonly reader: LogReader
  readonly agent: Agent | undefined
  readonly repairs: Repairs | undefined
  readonly from: string | undefined
  readonly pageSize: number
}

/**
 * Yields the request messages made from each message of the log, in order, starting with `from`. Reads the log on
 * demand.
 */
async function* replayFrom(
  key: SessionKey,
  { reader, agent, repairs, from, pageSize }: Reading,
): AsyncGenerator<{ readonly id: string; readonly sent: readonly RequestMessage[] }> {
  const turn = createTurnFinder(reader, key)
  const sources = createSourceFinder(reader, key)
  const reattaches = agent !== undefined && agent.policies.images !== 'note'
  const media = reattaches ? mediaFromOf(agent, await reader.context(key)) : {}
  let part = from === undefined ? [] : [await requireMessage(reader, key, from)]
  for (let more = true; more;) {
    const last = part.at(-1)?.id
    const page = await reader.messages(key, {
      order: 'ascending',
      limit: pageSize,
      mostCharacters: MAX_PAGE_BYTES,
      ...definedFields({ after: last }),
    })
    part.push(...page.messages)
    more = page.more
    // The request messages for a log message depend on its results and on the next message. So the last message of the
    // conversation in this read is converted after the next read.
    const open = more ? part.findLastIndex(isOwn) : part.length
    if (open <= 0) continue
    const { context, ...numbers } = await sources.optionsFor(part)
    const options = {
      replay: 'full',
      ...(await turn.optionsFor(part)),
      ...numbers,
      ...media,
      ...definedFields({ model: agent?.model }),
      context: { ...context, ...(agent && repairs && { repairs: { [fullModelName(agent.model)]: repairs } }) },
    } as const
    const replayed = replayEach(part.slice(0, open + 1), options)
    for (const { message, sent } of more ? replayed.slice(0, -1) : replayed) yield { id: message.id, sent }
    part = part.slice(open)
  }
}

/**
 * Finds the start of the log's last turn. A request contains all media and sources of that turn. Reads the log only if
 * the page has media or sources.
 */
function createTurnFinder(
  reader: LogReader,
  key: SessionKey,
): { optionsFor(part: readonly Message[]): Promise<{ currentRun: string; currentFrom: string }> } {
  let currentRun: string | undefined
  let currentFrom: string | undefined
  return {
    async optionsFor(part) {
      currentRun ??= (await reader.messages(key, { order: 'descending', limit: 1 })).messages[0]?.runId ?? ''
      if (currentFrom === undefined && part.some((message) => hasMedia(message) || hasSources(message)))
        currentFrom = await beginningOfLastTurn(reader, key)
      return { currentRun, currentFrom: currentFrom ?? AFTER_ALL }
    },
  }
}

/**
 * Finds the numbers of sources, and which sources were cited. Reads the log only if there are sources. A source without
 * a recorded number gets the number that the next request would assign over the whole log. So all pages show equal
 * numbers.
 */
function createSourceFinder(
  reader: LogReader,
  key: SessionKey,
): { optionsFor(part: readonly Message[]): Promise<Pick<ReplayOptions, 'numbers' | 'context'>> } {
  let context: ReplayOptions['context']
  let highest: number | undefined
  const unrecorded = new Map<string, number>()
  return {
    async optionsFor(part) {
      if (!part.some(hasSources)) return {}
      const { citations } = await reader.context(key)
      context ??= definedFields({ citations })
      const recorded = await findNumbers(reader, key, part)
      const known = new Map([...unrecorded, ...recorded])
      if (part.every((message) => !hasSources(message) || known.has(message.id))) return { context, numbers: known }
      highest ??= await highestBefore(reader, key, part[0]?.id)
      const next = numberSources(part, known, highest)
      highest = next.length === 0 ? highest : highestOf(next)
      for (const { message, from } of next) unrecorded.set(message, from)
      return { context, numbers: new Map([...recorded, ...unrecorded]) }
    },
  }
}

/**
 * Returns the highest source number before this message. It is a recorded number, or a number that a result would get.
 */
async function highestBefore(reader: LogReader, key: SessionKey, before: string | undefined): Promise<number> {
  const recorded = new Set<string>()
  let highest = 0
  for (let more = true; more;) {
    const page = await reader.sources(key, { order: 'ascending', after: highest, limit: PAGE })
    for (const { message } of page.numbered) recorded.add(message)
    highest = Math.max(highest, highestOf(page.numbered))
    more = page.more
  }
  let after: string | undefined
  for (let more = before !== undefined; more;) {
    const place = definedFields({ before, after })
    const query = {
      order: 'ascending',
      limit: PAGE,
      mostCharacters: MAX_PAGE_BYTES,
      roles: ['tool'],
      ...place,
    } as const
    const page = await reader.messages(key, query)
    for (const message of page.messages)
      if (hasSources(message) && !recorded.has(message.id)) highest += message.sources.length
    after = page.messages.at(-1)?.id
    more = page.more && after !== undefined
  }
  return highest
}

/** Greater than any id. */
const AFTER_ALL = 'Z'

async function beginningOfLastTurn(reader: LogReader, key: SessionKey): Promise<string> {
  let first: Message | undefined
  for (let before: string | undefined; ;) {
    const page = await reader.messages(key, {
      order: 'descending',
      limit: PAGE,
      mostCharacters: MAX_PAGE_BYTES,
      roles: ['user', 'assistant'],
      ...definedFields({ before }),
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

/** Whether a message belongs to the conversation itself: no tool result, and not by a team member. */
const isOwn = (message: Message): boolean => message.role !== 'tool' && isLeaders(message)

const hasMedia = (message: Message): boolean => message.parts.some(isMedia)

/** Replaces the bytes of images and files in a request with links. */
function withLinks(session: string, messageId: string, request: RequestMessage): RequestMessage {
  if (request.role !== 'user') return request
  const link = (part: RequestText | RequestMedia): RequestText | RequestMedia =>
    part.type === 'text' ? part : { ...part, url: partUrl(session, messageId, part.id) }
  return { ...request, parts: request.parts.map(link) }
}

const isMedia = (part: { type: string }): part is RequestMedia => part.type === 'image' || part.type === 'file'
