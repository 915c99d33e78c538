import type { MessageRange, Repairs, RepairStep, SessionContext } from '../../domain/context.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { sha256 } from '../../domain/hash.ts'
import type { AssistantMessage, UserMessage } from '../../domain/messages/message.ts'
import { fullModelName, isSameModel } from '../../domain/model-name.ts'
import { isJsonObject } from '../../domain/json.ts'
import type { RequestMessage } from '../../domain/model-request.ts'
import { mediaText } from '../formats/media-text.ts'
import { readJson } from '../json/exact-json.ts'

/** The form in which a log's messages are sent to one model. */
export interface RequestForm {
  /** The model's name in its agent's settings. If absent, reasoning of every model is sent, and nothing is repaired. */
  readonly model?: string
}

/** Text that replaces a message in requests to a model that refused the message. */
const REFUSED_NOTE = '<system_note>A message was left out here: the model did not accept it.</system_note>'
/** Text that replaces blank text for a model that refuses unknown parts. */
const EMPTY = '(empty)'

const NO_REPAIRS: Repairs = { steps: [], omitted: [] }

/** Returns the recorded repairs of requests to a model. `model`: the model's name in its agent's settings. */
export const repairsFor = ({ repairs }: Pick<SessionContext, 'repairs'>, model: string): Repairs =>
  repairs?.[fullModelName(model)] ?? NO_REPAIRS

/**
 * Returns the repairs for a member's requests. A member shares the steps of the session's repairs, but has its own
 * omitted messages.
 */
export function membersRepairs(
  session: SessionContext['repairs'],
  own: SessionContext['repairs'],
): SessionContext['repairs'] {
  if (session === undefined) return own
  const shared = Object.entries(session).map(([model, { steps, sent }]) => {
    const { omitted, refused, trial } = own?.[model] ?? NO_REPAIRS
    return [model, { steps, omitted, ...definedFields({ refused, trial, sent }) }] as const
  })
  return { ...own, ...Object.fromEntries(shared) }
}

/** Adapts the request messages of one message of the log to the model. */
export function toForm(
  message: UserMessage | AssistantMessage,
  sent: readonly RequestMessage[],
  { model, context = {} }: RequestForm & { readonly context?: Pick<SessionContext, 'repairs'> },
): readonly RequestMessage[] {
  if (model === undefined) return sent
  const { steps, omitted } = repairsFor(context, model)
  if (omitted.some((range) => isWithin(range, message.id))) return withoutContent(message)
  const own = message.role === 'user' || isMadeBy(message, model) ? sent : withoutForeign(sent, message)
  return steps.reduce((repaired, step) => REPAIR[step](repaired, message), own)
}

/**
 * Whether this model made the completion. Reasoning and signatures are only valid for the model that made them (promises L5).
 * `asked`: the model's name in the agent's settings.
 */
export const isMadeBy = ({ model, requestedModel }: AssistantMessage, asked: string): boolean =>
  [model, requestedModel].some(
    (made) => made !== undefined && (made === asked || isSameModel(made, fullModelName(asked))),
  )

/**
 * Removes reasoning and provider data, which are only valid for the model that made the message. If an imported message names no
 * model, the signatures of Chat Completions on its calls are kept.
 */
function withoutForeign(
  sent: readonly RequestMessage[],
  { model, requestedModel }: AssistantMessage,
): RequestMessage[] {
  const isUnknown = model === undefined && requestedModel === undefined
  return sent.flatMap((one) => withoutReasoning(one, (provider) => isUnknown && provider === 'openaiCompatible'))
}

const isWithin = ({ from, through }: MessageRange, id: string): boolean => id >= from && id <= through

const withoutContent = ({ role }: UserMessage | AssistantMessage): RequestMessage[] =>
  role === 'user' ? [{ role, parts: [{ type: 'text', text: REFUSED_NOTE }] }] : []

type Repair = (sent: readonly RequestMessage[], message: UserMessage | AssistantMessage) => readonly RequestMessage[]

const REPAIR: { readonly [step in RepairStep]: Repair } = {
  // The format is not part of a message: `buildRequest` moves it to the instructions.
  format: (sent) => sent,
  // Chat Completions servers may require their own signatures on calls, so these are kept.
  reasoning: (sent) => sent.flatMap((one) => withoutReasoning(one, (provider) => provider === 'openaiCompatible')),
  names: withNarrowIds,
  media: (sent) => sent.map(withoutMedia),
  parts: (sent) => sent.flatMap(withKnownParts),
}

/** Removes reasoning, and the data that providers attached to parts. `keeps` selects the providers whose data are kept. */
function withoutReasoning(message: RequestMessage, keeps: (provider: string) => boolean): RequestMessage[] {
  if (message.role !== 'assistant') return [message]
  const parts = message.parts.flatMap((part) => {
    if (part.type === 'reasoning') return []
    // Unchanged parts remain the identical objects, because weights are cached by object.
    if (part.provider === undefined || Object.keys(part.provider).every(keeps)) return [part]
    const { provider, ...plain } = part
    const kept = Object.entries(provider).filter(([name]) => keeps(name))
    return [kept.length === 0 ? plain : { ...plain, provider: Object.fromEntries(kept) }]
  })
  return parts.length === 0 ? [] : [{ ...message, parts }]
}

/** Gives each call and its result an id of nine letters and digits, unique in the log. Some providers accept only such ids. */
function withNarrowIds(sent: readonly RequestMessage[], { id }: { readonly id: string }): RequestMessage[] {
  const narrowId = (sequence: number): string =>
    `c${sha256(`${id}:${sequence}`, 'base64url').replaceAll(/[-_]/g, '').slice(0, 8)}`
  let results = 0
  return sent.map((message) => {
    if (message.role === 'user') return message
    if (message.role === 'tool') return { ...message, toolCallId: narrowId(results++) }
    let calls = 0
    const parts = message.parts.map((part) => {
      if (part.type !== 'tool_call') return part
      const { repeatedIn: _, ...call } = part
      return { ...call, id: narrowId(calls++) }
    })
    return { ...message, parts }
  })
}

function withoutMedia(message: RequestMessage): RequestMessage {
  if (message.role === 'assistant' || message.parts.every(({ type }) => type === 'text')) return message
  const parts = message.parts.map((part) =>
    part.type === 'text' ? part : ({ type: 'text', text: mediaText(part) } as const),
  )
  return { ...message, parts }
}

/**
 * Keeps only texts, calls and results. Removes data that providers attached, and replaces or drops blank texts. Arguments that
 * are not a JSON object become `{}`.
 */
function withKnownParts(message: RequestMessage): RequestMessage[] {
  if (message.role !== 'assistant')
    return [{ ...message, parts: message.parts.map((part) => (isBlank(part) ? { type: 'text', text: EMPTY } : part)) }]
  const parts = message.parts.flatMap((part) => {
    if (part.type === 'reasoning' || isBlank(part)) return []
    const { provider: _, ...plain } = part
    return [plain.type === 'tool_call' && !isObject(plain.arguments) ? { ...plain, arguments: '{}' } : plain]
  })
  return parts.length === 0 ? [] : [{ ...message, parts }]
}

const isBlank = (part: RequestMessage['parts'][number]): boolean => part.type === 'text' && part.text.trim() === ''

function isObject(text: string): boolean {
  try {
    return isJsonObject(readJson(text))
  } catch {
    return false
  }
}
