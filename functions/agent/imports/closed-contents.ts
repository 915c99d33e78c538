import { sha256 } from '../../domain/hash.ts'
import type { Policies } from '../../domain/agent.ts'
import type { ClosedMedia, ClosedMessage, ClosedPart, ClosedToolMessage } from '../../domain/messages/closed-message.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Json } from '../../domain/json.ts'
import { textOf } from '../../domain/messages/message.ts'
import type { MediaPart, Message, TextPart, ToolMessage, ToolPart } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { NumberedSources, Source } from '../../domain/messages/source.ts'
import { callText } from '../../log/call-text.ts'
import { fitContent } from '../../log/fit-content.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { limitMedia, mediaNote, storeMedia } from '../media.ts'

export interface ContentDependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

interface Place {
  readonly dependencies: ContentDependencies
  readonly key: SessionKey
  readonly policies: Pick<Policies, 'offloadBytes' | 'previewChars'>
}

/** Fields that an import adds to a message. */
interface Own {
  readonly id: string
  readonly runId: string
  readonly round: number
  readonly recordedAt: number
  /** The session's agent, for inputs that name none. */
  readonly agent: string
  /** The program that the session was imported from, for completions and calls that name no agent. */
  readonly program: string | undefined
  /** For a result: the id of the message with its call, and the call's index in it. */
  readonly call: { readonly id: string; readonly sequence: number } | undefined
  readonly parentMessageId: string | undefined
  readonly searched: true | undefined
  /** For a completion: its source numbers. */
  readonly numbered: readonly NumberedSources[] | undefined
}

/**
 * Builds the stored form of a closed message. When this resolves, its media and a large output are in the output store.
 */
export async function storedMessage(place: Place, message: ClosedMessage, own: Own): Promise<Message> {
  const { id, runId, round, recordedAt, parentMessageId, searched } = own
  const base = {
    id,
    runId,
    round,
    recordedAt,
    agent: message.agent ?? (message.role === 'user' ? undefined : own.program) ?? own.agent,
    createdAt: message.createdAt ?? recordedAt,
    ...definedFields({ parentToolCallId: message.parentToolCallId, parentMessageId }),
  }
  switch (message.role) {
    case 'user': {
      const { parts, media } = await withStored(place, message.parts)
      const note = media.length === 0 ? [] : [{ type: 'note', text: mediaNote(media) } as const]
      const { user, metadata } = message
      return { ...base, role: 'user', parts: [...parts, ...note], ...definedFields({ user, metadata }) }
    }
    case 'assistant': {
      const { parts, toolCalls, model, requestedModel, finishReason, usage, feedback } = message
      const { numbered } = own
      const known = definedFields({ model, requestedModel, finishReason, usage, numbered, searched, feedback })
      return { ...base, role: 'assistant', parts, toolCalls, ...known }
    }
    case 'tool':
      return toolMessage(place, message, own, base)
  }
}

async function toolMessage(
  place: Place,
  message: ClosedToolMessage,
  { call: stored, searched }: Own,
  base: Pick<ToolMessage, 'id' | 'runId' | 'round' | 'agent' | 'createdAt'>,
): Promise<ToolMessage> {
  const { of, sequence, status, data, mediaType, sources = [], completedAt, durationMs, decision } = message
  const call = of.toolCalls[sequence]
  if (call === undefined) throw new Error(`no call ${sequence} in the message of a result`)
  const { parts: storedParts, media } = await withStored(place, message.parts)
  const text = textOf(storedParts)
  const fitted =
    mediaType === undefined
      ? undefined
      : fitContent(
          { messageId: base.id, attempt: attemptOf(text, sources) },
          { text, mediaType, media, sources },
          place.policies,
        )
  for (const { name, bytes, mediaType: type } of fitted?.objects ?? [])
    await place.dependencies.outputs.put(place.key, name, bytes, type)
  return {
    ...base,
    role: 'tool',
    assistantMessageId: stored?.id ?? '',
    toolCallId: call.id,
    toolName: call.name,
    call: callText(call),
    sequence: stored?.sequence ?? sequence,
    status,
    ...definedFields({ origin: message.origin, namespace: message.namespace }),
    parts: withData(fitted?.output.object === undefined ? storedParts : fitted.parts, data),
    generation: 0,
    ...definedFields({ output: fitted?.output, sources: fitted?.sources, completedAt, durationMs, searched, decision }),
  }
}

/**
 * Names the objects of a result by their content. If the clock is behind the log, an import may reuse the ids of a crashed
 * import. Objects of the crashed import may still be stored under these ids.
 */
const attemptOf = (text: string, sources: readonly Source[]): string =>
  `imported-${sha256(JSON.stringify([text, sources])).slice(0, 16)}`

/** Puts the data after the text, as in results of our own tools. */
function withData(parts: readonly ToolPart[], data: Json | undefined): readonly ToolPart[] {
  if (data === undefined) return parts
  const texts = parts.findIndex(({ type }) => type !== 'text')
  return parts.toSpliced(texts === -1 ? parts.length : texts, 0, { type: 'data', data })
}

async function withStored(
  { dependencies, key }: Place,
  parts: readonly ClosedPart[],
): Promise<{ readonly parts: (TextPart | MediaPart)[]; readonly media: readonly MediaPart[] }> {
  const given = parts.filter((part) => part.type !== 'text')
  const { kept, omitted } = limitMedia(given)
  const media = await storeMedia(dependencies, key, kept.map(asUpload))
  const rest = [...media]
  const stored = parts.flatMap((part): (TextPart | MediaPart)[] => (part.type === 'text' ? [part] : rest.splice(0, 1)))
  const note = omitted === undefined ? [] : [{ type: 'text', text: omitted } as const]
  // Texts come before media, as in results of our own tools.
  const texts = stored.findLastIndex(({ type }) => type === 'text') + 1
  return { media, parts: stored.toSpliced(texts, 0, ...note) }
}

/**
 * Image types that providers accept. Media with such a type but without an image's first bytes become a file, because a
 * provider would reject them.
 */
const SENT_IMAGES = /^image\/(?:png|jpe?g|gif|webp)$/u

const asUpload = ({ mediaType, data, filename, type }: ClosedMedia) => ({
  type,
  mediaType: SENT_IMAGES.test(mediaType) ? 'application/octet-stream' : mediaType,
  data,
  ...definedFields({ filename }),
})
