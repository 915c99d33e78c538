import { z } from 'zod'
import { PLAIN_TEXT, ImportRefused } from '../../domain/messages/closed-message.ts'
import type { ClosedAssistantMessage, ClosedMessage, ClosedPart } from '../../domain/messages/closed-message.ts'
import { UNKNOWN_TYPE } from '../../domain/messages/media-type.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { AssistantPart, ToolCall } from '../../domain/messages/message.ts'
import { filePart, spokenPart, textPart } from '../formats/openai-parts.ts'
import { bytesOf, dataOf, isDataUrl, jsonObject, parse, shortText, time } from './fields.ts'
import { createOpenRounds } from './open-rounds.ts'
import type { MessageImport } from './message-import.ts'

const CONTENT = 'must be a text or a list of parts'
const mediaPart = z.discriminatedUnion(
  'type',
  [
    textPart,
    z.object({
      type: z.literal('image_url'),
      image_url: z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]),
    }),
    filePart,
  ],
  'must be text, image_url or file',
)
const base = { created_at: time.optional(), metadata: jsonObject.optional() }
const call = z.object({
  id: z.string().nullish(),
  /** `original_name` is a field of our exports: the tool's name in the log, if the provider got a mapped name. */
  function: z.object({
    name: z.string(),
    arguments: z.string().nullish(),
    original_name: z.string().optional().catch(undefined),
  }),
  /** Field of our exports and of Google's servers. Other programs may put any value here. */
  extra_content: z
    .object({ google: z.object({ thought_signature: z.string() }) })
    .optional()
    .catch(undefined),
})
const message = z.discriminatedUnion(
  'role',
  [
    z.object({
      ...base,
      role: z.literal('user'),
      content: z.union([z.string(), z.array(mediaPart)], CONTENT),
      name: shortText.optional(),
    }),
    z
      .object({
        ...base,
        role: z.literal('assistant'),
        content: z.union([z.string(), z.array(spokenPart)], CONTENT).nullish(),
        refusal: z.string().nullish(),
        reasoning_content: z.string().nullish(),
        tool_calls: z.array(call).nullish(),
        /** Field of an older version of the format. */
        function_call: z.null('is not supported: use tool_calls').optional(),
        model: shortText.optional(),
      })
      // Servers send null for a completion without content.
      .refine(
        ({ content, refusal, reasoning_content: thought, tool_calls: calls }) =>
          content !== undefined || [refusal, thought, calls?.[0]].some((one) => one !== undefined && one !== null),
        { path: ['content'], message: `${CONTENT} where there are no tool_calls` },
      ),
    z.object({
      ...base,
      role: z.literal('tool'),
      tool_call_id: z.string().nullish(),
      /** Null if the tool returned nothing. */
      content: z.union([z.string(), z.array(mediaPart)], CONTENT).nullable(),
    }),
  ],
  'must be user, assistant or tool',
)
type OpenAiMessage = z.output<typeof message>
type AssistantOf = Extract<OpenAiMessage, { role: 'assistant' }>

/**
 * Creates an import of Chat Completions messages. If an image or a file is given by its address, it becomes a line of text with
 * the address. Call ids that are empty or repeated within a message are replaced, as in our own log (promises L2). Results with
 * such an id are assigned to these calls in order.
 */
export function createOpenAiImport(): MessageImport {
  const rounds = createOpenRounds()
  return {
    take(value, at) {
      refuseSystem(value, at)
      const one = parse(message, value, at)
      if (one.role === 'tool') {
        const wanted = one.tool_call_id ?? ''
        const found = rounds.take(undefined, wanted)
        if (found === undefined)
          throw new ImportRefused([
            { path: `${at}.tool_call_id`, message: `matches no tool call without a result: ${JSON.stringify(wanted)}` },
          ])
        const when = definedFields({ createdAt: found.of.createdAt ?? one.created_at, completedAt: one.created_at })
        return [
          {
            ...when,
            role: 'tool',
            ...found,
            status: 'completed',
            parts: partsOf(one.content, at),
            mediaType: PLAIN_TEXT,
          },
        ]
      }
      const read: ClosedMessage =
        one.role === 'user'
          ? {
              role: 'user',
              parts: partsOf(one.content, at),
              ...definedFields({ user: one.name, createdAt: one.created_at, metadata: one.metadata }),
            }
          : assistantOf(one)
      const names = one.role === 'assistant' ? one.tool_calls?.map(({ id }) => id ?? '') : undefined
      rounds.assertCapacity(read, at)
      return [...rounds.closedBy(read, names), read]
    },
    end: () => rounds.end(),
  }
}

function refuseSystem(value: unknown, at: string): void {
  const role = typeof value === 'object' && value !== null && 'role' in value ? value.role : undefined
  if (role !== 'system' && role !== 'developer') return
  const text = `is ${role}: instructions belong to the session, not to its log`
  throw new ImportRefused([{ path: `${at}.role`, message: text }])
}

function partsOf(content: Extract<OpenAiMessage, { role: 'tool' }>['content'], at: string): ClosedPart[] {
  if (content === null || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, place): ClosedPart => {
    if (part.type === 'text') return part
    const path = `${at}.content[${place}]`
    if (part.type === 'image_url') {
      const { image_url: url } = part
      const image = dataOf(url)
      if (image === undefined && isDataUrl(url))
        throw new ImportRefused([{ path: `${path}.image_url`, message: 'must have base64 behind its comma' }])
      return mediaOf('image', image, undefined, `[image: ${url}]`)
    }
    const { filename, file_data: data = '', file_id: id } = part.file
    return mediaOf(
      'file',
      fileOf(data, `${path}.file.file_data`),
      filename,
      `[file: ${filename ?? id ?? 'without a name'}]`,
    )
  })
}

type Bytes = ReturnType<typeof dataOf>

/** OpenAI's documentation specifies base64, but its examples are data URLs. */
function fileOf(data: string, path: string): Bytes {
  if (ADDRESS.test(data) && !isDataUrl(data)) return undefined
  const raw = isDataUrl(data) ? undefined : bytesOf(data)
  const found = raw === undefined ? dataOf(data) : { mediaType: UNKNOWN_TYPE, data: raw }
  if (found === undefined)
    throw new ImportRefused([{ path, message: 'must be base64, a data URL with it, or an address' }])
  return found
}

const ADDRESS = /^[a-z][a-z0-9+.-]*:/iu

function mediaOf(type: 'image' | 'file', found: Bytes, filename: string | undefined, otherwise: string): ClosedPart {
  if (found === undefined || found.data.length === 0) return { type: 'text', text: otherwise.slice(0, 4_096) }
  return { type, ...found, ...definedFields({ filename }) }
}

function assistantOf(one: AssistantOf): ClosedAssistantMessage {
  const toolCalls = withIds(one.tool_calls ?? [])
  const texts = typeof one.content === 'string' ? [one.content] : (one.content ?? []).map(textOfPart)
  const parts: AssistantPart[] = [
    ...textParts('reasoning', [one.reasoning_content ?? '']),
    ...textParts('text', [...texts, one.refusal ?? '']),
    ...toolCalls.map(({ id }) => ({ type: 'tool_call' as const, id })),
  ]
  return { role: 'assistant', parts, toolCalls, ...definedFields({ createdAt: one.created_at, model: one.model }) }
}

const textOfPart = (part: { readonly text: string } | { readonly refusal: string }): string =>
  'text' in part ? part.text : part.refusal

const textParts = (type: 'text' | 'reasoning', texts: readonly string[]): AssistantPart[] =>
  texts.flatMap((text) => (text === '' ? [] : [{ type, text }]))

function withIds(calls: NonNullable<AssistantOf['tool_calls']>): ToolCall[] {
  const taken = new Set<string>()
  return calls.map(({ id, function: called, extra_content: extra }, place) => {
    const { name, arguments: text, original_name: original } = called
    let own = id ?? ''
    for (let n = place; own === '' || taken.has(own); n++) own = `call_${n}`
    taken.add(own)
    const signed = extra && { provider: { openaiCompatible: { thoughtSignature: extra.google.thought_signature } } }
    return { id: own, name: original ?? name, arguments: text ?? '', ...signed }
  })
}
