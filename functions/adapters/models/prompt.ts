import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ProviderMetadata } from '../../domain/messages/message.ts'
import type { ModelRequest, RequestMedia, RequestMessage, RequestText } from '../../domain/model-request.ts'
import { mediaText } from '../../log/formats/media-text.ts'
import { toolText } from '../../log/formats/openai-format.ts'
import { formatInstructions } from '../../log/request/format-text.ts'
import { createCallIds } from './call-ids.ts'
import { exactArguments } from './exact-arguments.ts'
import type { ProviderTraits } from './provider-traits.ts'

type AssistantRequest = Extract<RequestMessage, { role: 'assistant' }>
type ToolRequest = Extract<RequestMessage, { role: 'tool' }>
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** Instruction for providers that drop the history's calls from requests with `tool_choice: none`. */
const NO_CALLS = 'Answer now. Do not call any tool.'
/** Placeholder for providers that reject blank text, or a conversation that does not begin with the user. */
const EMPTY = '(empty)'

/** Converts the request's messages to the provider packages' form, in order. Each part keeps its provider metadata. */
export function toPrompt(request: ModelRequest, traits: ProviderTraits): LanguageModelV4Prompt {
  const calls = createCallIds(traits.arguments === 'parsed')
  const system = systemText(request, traits)
  const prompt: LanguageModelV4Prompt = system === undefined ? [] : [{ role: 'system', content: system }]
  let round: AssistantRequest | undefined
  if (traits.refusesBlank && request.messages[0]?.role !== 'user') prompt.push(userText(EMPTY))
  for (const message of request.messages) {
    if (message.role === 'assistant') round = message
    prompt.push(...convert(message, round, traits, calls))
  }
  if (request.toolChoice === 'none' && request.tools.length > 0 && !traits.honoursNone) {
    prompt.push(userText(NO_CALLS))
  }
  return prompt
}

/** Whether the format is sent as a field of the request. False if the provider does not support the field. */
export const isFieldOf = (request: ModelRequest, traits: ProviderTraits): boolean =>
  formatPlace(request, traits) !== false

/** Returns how the provider gets the format: as a field (`true`), by the instructions (`false`), or by both (`hinted`). */
function formatPlace(
  { responseFormat, describesFormat, tools, toolChoice }: ModelRequest,
  traits: ProviderTraits,
): boolean | 'hinted' {
  if (responseFormat === undefined || describesFormat === true) return false
  return traits.takesFormat(responseFormat, tools.length > 0 && toolChoice !== 'none')
}

/**
 * Returns the instructions, followed by a description of the format. The description is omitted if a field of the
 * request is enough.
 */
function systemText(request: ModelRequest, traits: ProviderTraits): string | undefined {
  const { instructions, responseFormat: format } = request
  if (format === undefined) return instructions
  if (formatPlace(request, traits) === true) return instructions
  return [...(instructions === undefined ? [] : [instructions]), formatInstructions(format)].join('\n\n')
}

const userText = (text: string): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })

function convert(
  message: RequestMessage,
  round: AssistantRequest | undefined,
  traits: ProviderTraits,
  calls: ReturnType<typeof createCallIds>,
): LanguageModelV4Message[] {
  if (message.role === 'user') {
    const content = message.parts.map((part) => userPart(part, traits)).filter((part) => isSent(part, traits))
    return [content.length > 0 ? { role: 'user', content } : userText(EMPTY)]
  }
  if (message.role === 'assistant') {
    const ids = calls.begin(message.parts.flatMap((part) => (part.type === 'tool_call' ? [part] : [])))
    const content = assistantContent(message, ids, traits)
    return content.some((part) => part.type !== 'reasoning') ? [{ role: 'assistant', content }] : []
  }
  const { id, index } = calls.next(message.toolCallId)
  const call = round?.parts.filter((part) => part.type === 'tool_call')[index]
  const output = resultOutput(message, traits, call?.arguments ?? '')
  return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: message.toolName, output }] }]
}

function isSent(part: { readonly type: string; readonly text?: string }, traits: ProviderTraits): boolean {
  return !traits.refusesBlank || part.type !== 'text' || part.text === undefined || part.text.trim() !== ''
}

function userPart(
  part: RequestText | RequestMedia,
  traits: ProviderTraits,
): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text, ...providerOptions(part.provider) }
  if (part.data === undefined || !traits.userMedia.test(part.mediaType)) return { type: 'text', text: mediaText(part) }
  if (part.mediaType.startsWith('text/')) return { type: 'text', text: Buffer.from(part.data).toString('utf8') }
  return filePart(part, part.data)
}

function filePart(part: RequestMedia, data: Uint8Array): LanguageModelV4FilePart {
  return {
    type: 'file',
    mediaType: part.mediaType,
    data: { type: 'data', data },
    ...definedFields({ filename: part.filename }),
  }
}

function assistantContent(message: AssistantRequest, ids: readonly string[], traits: ProviderTraits): AssistantContent {
  let placed = 0
  const content = message.parts.map((part): AssistantContent[number] => {
    if (part.type !== 'tool_call') return { type: part.type, text: part.text, ...providerOptions(part.provider) }
    const input = traits.arguments === 'raw' ? part.arguments : (exactArguments(part.arguments) ?? {})
    const toolCallId = ids[placed++] ?? part.id
    return { type: 'tool-call', toolCallId, toolName: part.name, input, ...providerOptions(part.provider) }
  })
  return content.filter((part) => isSent(part, traits))
}

/**
 * Converts a result. A provider that requires the arguments to be an object gets `{}` instead of malformed arguments.
 * The result then quotes the malformed arguments.
 */
function resultOutput(message: ToolRequest, traits: ProviderTraits, raw: string): LanguageModelV4ToolResultOutput {
  const malformed = traits.arguments === 'parsed' && exactArguments(raw) === undefined
  const quote = malformed && !toolText(message.parts).includes(raw)
  const parts: ToolRequest['parts'] = quote
    ? [{ type: 'text', text: `The arguments were not a JSON object: ${raw}` }, ...message.parts]
    : message.parts
  const isError = message.isError || malformed
  const media = parts.some(
    (part) => part.type !== 'text' && part.data !== undefined && traits.toolMedia.test(part.mediaType),
  )
  if (media && !isError) return { type: 'content', value: parts.map((part) => resultPart(part, traits)) }
  const text = toolText(parts)
  const value = traits.refusesBlank && text.trim() === '' ? EMPTY : text
  return { type: isError ? 'error-text' : 'text', value }
}

function resultPart(
  part: RequestText | RequestMedia,
  traits: ProviderTraits,
): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.data === undefined || !traits.toolMedia.test(part.mediaType)) return { type: 'text', text: mediaText(part) }
  return filePart(part, part.data)
}

function providerOptions(provider: ProviderMetadata | undefined): { providerOptions?: ProviderMetadata } {
  return provider === undefined ? {} : { providerOptions: provider }
}
