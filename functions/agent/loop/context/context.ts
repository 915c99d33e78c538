import type { Agent } from '../../../domain/agent.ts'
import type { Cut, Scale, SessionContext } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import type { AssistantMessage, Message } from '../../../domain/messages/message.ts'
import type { ModelRequest } from '../../../domain/model-request.ts'
import { withRunOptions } from '../../../domain/runs/decided-settings.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { cutToFit } from '../../../log/request/context-cut.ts'
import type { Older } from '../../../log/request/context-cut.ts'
import { membersRepairs } from '../../../log/request/request-form.ts'
import { requestTokensOf } from '../../../log/request/context-sizes.ts'
import { createContextWindow } from '../../../log/request/context-window.ts'
import type { LoadedLog } from '../../../log/request/context-window.ts'
import { movedMedia } from '../../../log/request/media-window.ts'
import { isConversational } from '../../../log/request/request-context.ts'
import { scaleOf, tokensOf } from '../../../log/request/request-size.ts'
import type { Measured } from '../../../log/request/request-size.ts'
import { weighDeclarations, weighFormat, weighMessages } from '../../../log/request/token-weight.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { recordDecision } from '../record-decision.ts'
import { buildRequest, declaredTools, instructed, mediaFromOf } from '../model/model-request.ts'
import type { RequestOf } from '../model/model-request.ts'
import { formatOf } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import type { NewNotice } from '../writer/run-writer.ts'
import { giveNumbers } from '../sources/source-numbers.ts'
import { conversationOf } from '../thread.ts'
import type { Thread } from '../thread.ts'

/** Page size in messages and in characters. Decoding a longer page would block the event loop. */
const PAGE = 500
const PAGE_CHARACTERS = 1_000_000
/** Share of the context that a request may fill. The token estimate may be a few per cent too low. */
const FULL = 0.95
/** Smaller share for a request that follows a write anyway. A later truncation in the same run would cost another write. */
const SOON_FULL = 0.75

/** Reads pages of a log. */
export type MessageReader = Pick<LogReader, 'messages'>

/** The data for a request: the part of the log that fits, and the decisions about the rest. */
export interface LoadedContext extends LoadedLog {
  readonly decided: SessionContext
}

/**
 * Loads the part of the log that a run needs, ids ascending: the run itself and the earlier messages that its requests
 * send. Reads backwards from the newest message; each page is as long as the space that is left. The cost depends on
 * the run and the context, not on the session's length (promises R7).
 */
export async function loadContext(
  reader: Pick<LogReader, 'context' | 'messages' | 'message'>,
  key: SessionKey,
  run: string,
  agent: Pick<Agent, 'modelOptions' | 'model' | 'policies'>,
): Promise<LoadedContext> {
  const decided = await reader.context(key)
  const window = createContextWindow(
    run,
    requestTokensOf(agent, decided.limits),
    decided,
    mediaFromOf(agent, decided).mediaFrom,
  )
  // A summary is made at the beginning of a run or between runs. So it never covers messages of the running run.
  const { through } = decided.summary ?? {}
  const after = through === undefined ? {} : { after: through }
  let loaded: LoadedLog
  for (let before: string | undefined; ;) {
    const limit = Math.min(PAGE, window.wanted())
    const from = before === undefined ? after : { ...after, before }
    const page = await reader.messages(key, { order: 'descending', limit, mostCharacters: PAGE_CHARACTERS, ...from })
    const enough = window.add(page.messages)
    before = page.messages.at(-1)?.id
    loaded = window.loaded(!page.more)
    if (enough || !page.more || before === undefined) break
  }
  const known = new Set(loaded.messages.map(({ id }) => id))
  const missing = (decided.cut?.kept ?? []).filter((id) => !known.has(id))
  const kept = await Promise.all(missing.map((id) => reader.message(key, id)))
  return { ...loaded, messages: [...kept.filter((one) => one !== undefined), ...loaded.messages], decided }
}

/** A request and its estimated number of tokens. */
export interface SizedRequest {
  readonly request: ModelRequest
  readonly tokens: number
  /** Set when the request only fits after a truncation that is not recorded yet. */
  readonly decision?: SessionContext
}

/**
 * The data from which a request is built. `older` counts the messages that are not loaded; it is called only when that count is
 * needed.
 */
export interface Requested extends Omit<RequestOf, 'context'> {
  readonly context: LoadedContext
  /** The id of the log's last message. */
  readonly head: string
  /** Whether the run begins with the notice that a summary is near. The notice is recorded before this request. */
  readonly isAnnounced: boolean
  older(): Promise<Older>
}

/** Builds the next request of a thread so that it fits the model's context. Stores nothing. */
export async function sizeRequest(of: Requested): Promise<SizedRequest> {
  const { runId, agent } = of.thread
  const { messages, decided } = of.context
  const maxTokens = requestTokensOf(agent, decided.limits)
  // The media window moves only before the first completion of a run. Media in results of the run's own tools move the
  // window only for the next run.
  const begins = !messages.some((message) => message.role === 'assistant' && message.runId === runId)
  const media = begins ? movedMediaOf(agent, messages, decided) : undefined
  const next = media === undefined ? of : withMedia(of, media)
  const whole = { ...measure(next), ...(next === of ? {} : { decision: next.context.decided }) }
  if (whole.tokens <= maxTokens * (of.isAnnounced ? SOON_FULL : FULL) && of.context.isWhole) return whole
  return withCut(next, whole, cutToFit(whole.of, whole.scale, maxTokens, await of.older())) ?? whole
}

const movedMediaOf = (
  { policies: { images } }: Pick<Agent, 'policies'>,
  messages: readonly Message[],
  decided: SessionContext,
): SessionContext['media'] => (images === 'note' ? undefined : movedMedia(messages, images.reattach, decided))

/** Returns the data for a request whose media window has moved, with a new estimate of the tokens. */
function withMedia(of: Requested, media: NonNullable<SessionContext['media']>): Requested {
  const { scale } = measure(of)
  const before = { ...of.context.decided, media }
  const { weight } = measure({ ...of, context: { ...of.context, decided: before } })
  const decided = { at: of.head, scale: { weight, tokens: tokensOf(scale, weight), rate: scale.rate } }
  return { ...of, context: { ...of.context, decided: { ...before, decided } } }
}

/** Returns the request with this truncation, which is not recorded yet; undefined without a truncation. */
export function withCut(of: Requested, { scale }: Weighed, cut: Cut | undefined): SizedRequest | undefined {
  if (cut === undefined) return undefined
  const { trial: _, ...before } = of.context.decided
  const context = { ...of.context, decided: { ...before, cut }, isWhole: true }
  const { request, weight } = measure({ ...of, context })
  const tokens = tokensOf(scale, weight)
  const decided = { at: of.head, scale: { weight, tokens, rate: scale.rate } }
  return { request, tokens, decision: { ...context.decided, decided } }
}

export interface Weighed extends SizedRequest {
  readonly of: Measured
  readonly weight: number
  readonly scale: Scale
}

/** Builds a request and estimates its tokens. */
export function measure(of: Requested): Weighed {
  const { messages, decided, isWhole } = of.context
  const { agent, runId } = of.thread
  const request = buildRequest({ ...of, context: decided })
  const { repeated = [] } = of
  const declarations =
    weighDeclarations(request.instructions, request.tools) + weighFormat(of.format) + weighMessages(repeated)
  const measured = {
    messages,
    context: decided,
    currentRun: runId,
    model: agent.model,
    replay: agent.policies.replay,
    numbers: of.numbers,
    ...mediaFromOf(agent, decided),
    declarations,
    isWhole,
  }
  const weight = declarations + weighMessages(request.messages.slice(0, request.messages.length - repeated.length))
  const scale = scaleOf(measured)
  return { request, tokens: tokensOf(scale, weight), of: measured, weight, scale }
}

/** Counts the messages after the last summary that are not loaded. Reads the log page by page. */
export async function countOlder(
  reader: MessageReader,
  key: SessionKey,
  { messages, decided, isWhole }: LoadedContext,
): Promise<Older> {
  const count = { messages: 0, conversational: 0 }
  const first = messages[0]?.id
  if (isWhole || first === undefined) return count
  for await (const message of readBack(reader, key, { before: first, after: decided.summary?.through })) {
    if (!isLeaders(message)) continue
    count.messages++
    if (isConversational(message)) count.conversational++
  }
  return count
}

/** Counts the conversational messages after the last summary, without those of this run. */
export async function countConversation(
  reader: MessageReader,
  key: SessionKey,
  loaded: LoadedContext,
  run: string,
): Promise<number> {
  const { cut, summary } = loaded.decided
  const through = summary?.through ?? ''
  const after = (id: string): boolean => id >= (cut?.from ?? '') && id > through
  const known = loaded.messages.filter((one) => after(one.id) && one.runId !== run && isConversational(one)).length
  if (cut !== undefined && cut.from > through) return known + cut.conversational
  return known + (await countOlder(reader, key, loaded)).conversational
}

/** Reads the log's messages between two ids, newest first. The next page is read only when it is needed. */
export async function* readBack(
  reader: MessageReader,
  key: SessionKey,
  { before, after }: { readonly before: string | undefined; readonly after: string | undefined },
): AsyncGenerator<Message> {
  for (let next = before; ;) {
    const page = await reader.messages(key, {
      order: 'descending',
      limit: PAGE,
      mostCharacters: PAGE_CHARACTERS,
      ...definedFields({ before: next, after }),
    })
    yield* page.messages
    next = page.messages.at(-1)?.id
    if (!page.more || next === undefined) return
  }
}

/**
 * Builds the next request of a thread so that it fits the context. The decision about the request and the notices are
 * stored before the promise resolves.
 */
export async function fittingRequest(
  state: RunState,
  asked: Asked,
  notices: readonly NewNotice[] = [],
): Promise<SizedRequest> {
  const { consolidation } = asked.thread.agent.policies
  const isAnnounced = notices.length > 0 && consolidation !== false && consolidation.keepRecentRatio < 1
  const sized = await sizeRequest({ ...(await requested(state, asked)), isAnnounced })
  if (sized.decision === undefined && notices.length === 0) return sized
  await recordDecision(state, { ...definedFields({ context: sized.decision }), notices }, asked)
  return sized
}

/**
 * Decides which images or files leave the media window, when a run ends with this completion. Deciding now saves a write before
 * the first request of the next run, unless that run's input has media. Returns undefined when nothing leaves the window.
 */
export async function mediaAtEnd(
  state: RunState,
  completion: AssistantMessage | undefined,
): Promise<SessionContext | undefined> {
  const { leader, context, request } = state
  const messages = completion === undefined ? leader.messages : [...leader.messages, completion]
  const media = movedMediaOf(leader.agent, messages, context.decided)
  if (media === undefined) return undefined
  const tools = declaredTools(leader.tools, request.clientTools)
  const last = await requested(state, { thread: leader, tools, toolChoice: 'auto' })
  const at = { ...last, head: completion?.id ?? last.head }
  const ended = { ...at, thread: { ...last.thread, messages }, context: { ...last.context, messages } }
  return withMedia(ended, media).context.decided
}

/** The parts of a thread's request besides its messages. */
export interface Asked extends Pick<RequestOf, 'tools' | 'toolChoice' | 'repeated'> {
  readonly thread: Thread
}

/**
 * Gathers the data for a request. A member's request has neither the session's instructions nor the leader's context decisions.
 */
export async function requested(state: RunState, { thread, ...asked }: Asked): Promise<Requested> {
  const numbers = await giveNumbers(state, thread)
  const { reads, writer, request, session, context } = state
  const messages = conversationOf(thread)
  const loaded = { messages, decided: decidedOf(state, thread), isWhole: !isLeaders(thread) || context.isWhole }
  const older = (): Promise<Older> => countOlder(reads.reader, writer.key, loaded)
  const { runId } = thread
  const agent = isLeaders(thread) ? withRunOptions(thread.agent, request.settings) : thread.agent
  const own = { session: isLeaders(thread) ? instructed(request, session) : {}, thread: { runId, agent, messages } }
  const format = definedFields({ format: formatOf(state, thread) })
  return { ...own, ...asked, ...format, context: loaded, numbers, head: writer.head(), isAnnounced: false, older }
}

/**
 * Returns the context decisions for a thread's requests. A member has its own decisions. The session's learned limits and repairs
 * of requests apply to members as well.
 */
export function decidedOf({ context: { decided } }: RunState, thread: Thread): SessionContext {
  if (isLeaders(thread)) return decided
  const own = decided.members?.[thread.parentMessageId ?? '']
  return {
    ...own,
    ...definedFields({ limits: decided.limits, repairs: membersRepairs(decided.repairs, own?.repairs) }),
  }
}
