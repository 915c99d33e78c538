import { z } from 'zod'
import { sha256 } from '../../domain/hash.ts'
import { ImportRefused, PLAIN_TEXT } from '../../domain/messages/closed-message.ts'
import type { ClosedMessage, ClosedPart, ClosedToolMessage, MemberCall } from '../../domain/messages/closed-message.ts'
import { MAX_OFFLOAD_BYTES } from '../../domain/agent.ts'
import { isMediaType } from '../../domain/messages/media-type.ts'
import { MAX_RATINGS } from '../../domain/messages/feedback.ts'
import type { Json } from '../../domain/json.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { STATUS_TEXT, textOf } from '../../domain/messages/message.ts'
import type { AssistantPart, ProviderMetadata, RunErrorCode, ToolStatus } from '../../domain/messages/message.ts'
import { HIGHEST_NUMBER, MAX_SOURCES, sourceFault } from '../../domain/messages/source.ts'
import type { Source } from '../../domain/messages/source.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { encodeOutput } from '../formats/output-encoding.ts'
import { withPlainNumbers } from '../json/exact-json.ts'
import { jsonObject, numeric, parse, shortText, time } from './fields.ts'
import { createMemberCalls, type MemberCalls } from './member-calls.ts'
import type { MessageImport } from './message-import.ts'
import { createOpenRounds, loopOf } from './open-rounds.ts'
import { isSessionLine } from './session-line.ts'

/** Schema of a provider's data. Its fields are validated by the provider's package, which only accepts JavaScript numbers. */
const provider = jsonObject.transform((value) => withPlainNumbers(value) as ProviderMetadata).optional()
const text = z.object({ type: z.literal('text'), text: z.string(), provider })
const bytes = z
  .string('must be there: export with outputs=inline')
  .refine((data) => Buffer.from(data, 'base64').toString('base64') === data, 'must be base64 (RFC 4648, padded)')
const declaredType = z.string().refine(isMediaType, 'must be a media type, such as text/plain')
const upload = { media_type: declaredType, filename: z.string().optional(), data: bytes }
const image = z.object({ type: z.literal('image'), ...upload })
const file = z.object({ type: z.literal('file'), ...upload })
const content = z.array(z.discriminatedUnion('type', [text, image, file]))
/** Schema of a tool's data. Its limit equals that of our own rows; longer data are dropped. */
const data = z.object({
  type: z.literal('data'),
  data: z.custom<Json>(
    (value) => value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= MAX_OFFLOAD_BYTES,
    'must be a value of at most 256 KB of JSON',
  ),
})
const result = z
  .array(z.discriminatedUnion('type', [text, image, file, data]))
  .refine((parts) => parts.filter(({ type }) => type === 'data').length < 2, 'must have at most one part with data')
const tokens = numeric(z.number().int().nullable()).default(null)
const usage = z
  .object({
    input_tokens: tokens,
    cached_input_tokens: tokens,
    cache_write_tokens: tokens,
    output_tokens: tokens,
    reasoning_tokens: tokens,
    total_tokens: tokens,
    provider: jsonObject.optional(),
  })
  .transform((one): Usage => ({
    inputTokens: one.input_tokens,
    cachedInputTokens: one.cached_input_tokens,
    cacheWriteTokens: one.cache_write_tokens,
    outputTokens: one.output_tokens,
    reasoningTokens: one.reasoning_tokens,
    totalTokens: one.total_tokens,
    ...definedFields({ provider: one.provider }),
  }))
const source = z
  .custom<Source>()
  .superRefine((value, context) => {
    const fault = sourceFault(value)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })
  .transform(({ title, url, text: whole, id }): Source => ({ title, ...definedFields({ url, text: whole, id }) }))
const base = {
  id: shortText.optional(),
  run_id: shortText.optional(),
  superseded_by: shortText.optional(),
  agent: z.string().min(1).max(128).optional(),
  /** Ids and names of calls are accepted as models and their servers make them. Some put a signature into the id. */
  parent_tool_call_id: z.string().optional(),
  parent_message_id: shortText.optional(),
  round: numeric(z.number().int().min(0)).optional(),
  created_at: time.optional(),
}
/** An undocumented field of our exports. */
const searched = z
  .boolean()
  .optional()
  .transform((value) => (value === true ? value : undefined))
/** Numbers of sources that a completion records. Only our exports have them. */
const numbered = z
  .object({
    message_id: shortText,
    from: numeric(z.number().int().min(1).max(HIGHEST_NUMBER)),
    count: numeric(z.number().int().min(1).max(MAX_SOURCES)),
  })
  .transform(({ message_id: row, from, count }) => ({ message: row, from, count }))
/** The limit is low because all ratings of a message share one row. */
const rater = z.string().max(256)
const feedback = z.object({ rating: z.enum(['positive', 'negative']), user: rater, at: time })
const decision = z
  .object({ approved: z.boolean(), by: shortText.optional(), at: time })
  .transform(({ approved, by, at }) => ({ approved, ...definedFields({ by }), at }))
const TOOL_STATUS = ['running', 'waiting', 'completed', 'error', 'interrupted', 'cancelled', 'denied'] as const
const message = z.discriminatedUnion(
  'role',
  [
    z.object({
      ...base,
      role: z.literal('user'),
      parts: content,
      user: shortText.optional(),
      metadata: jsonObject.optional(),
    }),
    z
      .object({
        ...base,
        role: z.literal('assistant'),
        parts: z.array(
          z.discriminatedUnion('type', [
            text,
            z.object({ type: z.literal('reasoning'), text: z.string(), provider }),
            z.object({ type: z.literal('tool_call'), id: z.string() }),
            z.object({ type: z.literal('error'), code: shortText, text: z.string() }),
          ]),
        ),
        tool_calls: z
          .array(z.object({ id: z.string().min(1), name: z.string(), arguments: z.string(), provider }))
          .refine((calls) => new Set(calls.map(({ id }) => id)).size === calls.length, 'must have different ids')
          .default([]),
        model: shortText.optional(),
        /** Field of our exports: the model that was requested. */
        requested_model: shortText.optional(),
        finish_reason: shortText.optional(),
        usage: usage.optional(),
        searched,
        numbered: z.array(numbered).default([]),
        feedback: z.array(feedback).max(MAX_RATINGS).optional(),
      })
      .refine(
        ({ parts, tool_calls: calls }) => {
          const ids = new Set(calls.map(({ id }) => id))
          return parts.every((part) => part.type !== 'tool_call' || ids.has(part.id))
        },
        { path: ['parts'], message: 'must have no tool_call that is not in tool_calls' },
      ),
    z.object({
      ...base,
      role: z.literal('tool'),
      parts: result,
      tool_call_id: z.string(),
      sequence: numeric(z.number().int().min(0)).optional(),
      status: z.enum(TOOL_STATUS).default('completed'),
      completed_at: time.optional(),
      duration_ms: numeric(z.number().min(0)).optional(),
      decision: decision.optional(),
      origin: z.literal('client').optional(),
      namespace: z.string().max(64).optional(),
      searched,
      sources: z.array(source).max(MAX_SOURCES).optional(),
      /** Field of our exports: the call's compact text. */
      call: z.string().optional(),
      output: z.object({ media_type: declaredType, sha256: z.string().optional() }).optional(),
    }),
  ],
  'must be user, assistant or tool',
)
type NativeMessage = z.output<typeof message>
type ToolOf = Extract<NativeMessage, { role: 'tool' }>

/** Creates an import of messages in the form of the API, which contain their media and whole outputs. */
export function createNativeImport(): MessageImport {
  const rounds = createOpenRounds()
  const calls = createMemberCalls()
  return {
    take(value, at) {
      if (isSessionLine(value)) return []
      const one = parse(message, value, at)
      const place = baseOf(one)
      if (isInput(one) && one.run_id === undefined) calls.begin()
      const parent = calls.parentOf({ ...place, parentMessageId: one.parent_message_id })
      const own = { ...place, ...definedFields({ parent }) }
      if (one.role === 'tool') {
        const found = rounds.take(loopOf(own), one.tool_call_id, one.sequence)
        if (found === undefined)
          throw new ImportRefused([
            {
              path: `${at}.tool_call_id`,
              message: `matches no tool call without a result: ${JSON.stringify(one.tool_call_id)}`,
            },
          ])
        const read = toolOf(one, found, at)
        const count = definedFields({ sources: read.mediaType === undefined ? undefined : read.sources?.length })
        const call = { toolCallId: one.tool_call_id, sequence: found.sequence, ...count }
        return [{ ...own, ...read, named: calls.take(place, call, one.id) }]
      }
      const read = spoken(one, own, calls)
      rounds.assertCapacity(read, at)
      return [...rounds.closedBy(read), read]
    },
    end: () => rounds.end(),
  }
}

const isInput = (one: NativeMessage): boolean => one.role === 'user' && one.parent_tool_call_id === undefined

type Base = ReturnType<typeof baseOf> & { readonly parent?: MemberCall }

const baseOf = (one: NativeMessage) =>
  definedFields({
    agent: one.agent,
    parentToolCallId: one.parent_tool_call_id,
    round: one.round,
    createdAt: one.created_at,
    run: one.run_id,
    supersededBy: one.superseded_by,
  })

function spoken(
  one: Exclude<NativeMessage, ToolOf>,
  base: Base,
  calls: MemberCalls,
): Exclude<ClosedMessage, ClosedToolMessage> {
  if (one.role === 'user')
    return {
      ...base,
      role: 'user',
      parts: one.parts.map(partOf),
      ...definedFields({ user: one.user, metadata: one.metadata }),
    }
  return {
    ...base,
    role: 'assistant',
    parts: one.parts.map((part): AssistantPart =>
      part.type === 'error' ? { ...part, code: part.code as RunErrorCode } : definedFields(part),
    ),
    toolCalls: one.tool_calls.map((call) => definedFields(call)),
    ...definedFields({
      model: one.model,
      requestedModel: one.requested_model,
      finishReason: one.finish_reason,
      usage: one.usage,
      searched: one.searched,
      numbered: calls.numbersOf(one.numbered),
      feedback: one.feedback,
    }),
  }
}

function toolOf(one: ToolOf, found: Pick<ClosedToolMessage, 'of' | 'sequence'>, at: string): ClosedToolMessage {
  const isOpen = one.status === 'running' || one.status === 'waiting'
  const status: ToolStatus = isOpen ? 'interrupted' : one.status
  const given: ToolOf['parts'] = isOpen ? [{ type: 'text', text: STATUS_TEXT.interrupted }] : one.parts
  const parts = given.filter((part) => part.type !== 'data').map(partOf)
  requireWhole(one, parts, at)
  return {
    role: 'tool',
    ...found,
    status,
    parts,
    ...definedFields({
      data: given.find((part) => part.type === 'data')?.data,
      mediaType: one.output?.media_type ?? (one.call === undefined && hasResult(status) ? PLAIN_TEXT : undefined),
      sources: one.sources,
      completedAt: one.completed_at,
      durationMs: one.duration_ms,
      searched: one.searched,
      origin: one.origin,
      namespace: one.namespace,
      decision: one.decision,
    }),
  }
}

const hasResult = (status: ToolStatus): boolean => status === 'completed' || status === 'error'

/** Rejects a result whose output is missing. An export without outputs has previews instead. */
function requireWhole({ output }: ToolOf, parts: readonly ClosedPart[], at: string): void {
  if (output?.sha256 === undefined) return
  const whole = encodeOutput(textOf(parts.filter((part) => part.type === 'text')), output.media_type)
  if (sha256(whole.bytes) === output.sha256) return
  const reason = 'is not of this content: export with outputs=inline, or leave it out'
  throw new ImportRefused([{ path: `${at}.output.sha256`, message: reason }])
}

function partOf(part: z.output<typeof content>[number]): ClosedPart {
  if (part.type === 'text') return definedFields(part)
  const { type, media_type: mediaType, filename, data } = part
  return { type, mediaType, data: Buffer.from(data, 'base64'), ...definedFields({ filename }) }
}
