import { definedFields } from '../domain/defined-fields.ts'
import { TooltrailError } from '../domain/errors.ts'
import { nextId } from '../domain/ids.ts'
import { isMediaType, UNKNOWN_TYPE } from '../domain/messages/media-type.ts'
import type { MediaPart } from '../domain/messages/message.ts'
import type { RequestMedia, RequestMessage, RequestText } from '../domain/model-request.ts'
import type { SessionKey } from '../domain/session.ts'
import { idOfContent } from '../log/content-id.ts'
import { goneText } from '../log/tool-result-text.ts'
import type { Clock } from '../ports/clock.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { IncomingMedia } from '../ports/tool.ts'

interface Dependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** Limit of one image or file that a tool returns. */
const MAX_MEDIA_BYTES = 20_000_000
/**
 * Maximum number of images and files of one tool result, or of one imported message. Each is stored as an object, in a separate
 * write.
 */
const MAX_MEDIA = 64
/** Maximum number of omitted media that a text names. */
const MAX_NAMED = 64

/**
 * Stores the bytes of an input's media with their detected types. Returns parts that point to the stored bytes, so that a
 * row never contains the bytes themselves (promises O4). Each object has a unique name, so that the media of a rejected
 * input can be removed.
 */
export async function storeMedia(
  { outputs, clock }: Dependencies,
  key: SessionKey,
  media: readonly IncomingMedia[],
): Promise<MediaPart[]> {
  let id: string | undefined
  const stored: MediaPart[] = []
  for (const one of media) {
    id = nextId(id, clock.now())
    stored.push(await storeOne(outputs, key, id, one))
  }
  return stored
}

/** Splits media into those within the limit of one message and a text that names the others. */
export function limitMedia<Media extends Pick<IncomingMedia, 'type' | 'filename'>>(
  media: readonly Media[],
): { readonly kept: readonly Media[]; readonly omitted?: string } {
  if (media.length <= MAX_MEDIA) return { kept: media }
  const names = media.map(({ type, filename }, place) => filename ?? `${type} ${place + 1}`).slice(MAX_MEDIA)
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  const omitted = `[${names.slice(0, MAX_NAMED).join(', ')}${more} left out: a message has at most ${MAX_MEDIA} images and files]`
  return { kept: media.slice(0, MAX_MEDIA), omitted }
}

/**
 * Stores the media of a tool's result under a name made from the content, so that a session stores equal media once.
 * Media that are too large or too many are omitted; `leftOut` says so to the model.
 */
export async function storeToolMedia(
  outputs: Pick<OutputStore, 'put'>,
  key: SessionKey,
  media: readonly IncomingMedia[],
): Promise<{ readonly stored: MediaPart[]; readonly leftOut: string[] }> {
  const stored: MediaPart[] = []
  const { kept, omitted } = limitMedia(media)
  const leftOut: string[] = []
  for (const one of kept) {
    if (one.data.length > MAX_MEDIA_BYTES)
      leftOut.push(`[${one.filename ?? one.type} was left out: it has more than ${MAX_MEDIA_BYTES / 1_000_000} MB]`)
    else stored.push(await storeOne(outputs, key, idOfContent(one.data), one))
  }
  if (omitted !== undefined) leftOut.push(omitted)
  return { stored, leftOut }
}

async function storeOne(
  outputs: Pick<OutputStore, 'put'>,
  key: SessionKey,
  id: string,
  { data, filename, mediaType: declared }: IncomingMedia,
): Promise<MediaPart> {
  // Imported on demand, because the package is large and few contents have media.
  const { fileTypeFromBuffer } = await import('file-type')
  // If a file were wrongly declared as an image, each request with it would fail. An invalid media type would make the
  // store and each download fail.
  const unknown = declared.startsWith('image/') || !isMediaType(declared) ? UNKNOWN_TYPE : declared
  const mediaType = (await fileTypeFromBuffer(data))?.mime ?? unknown
  await outputs.put(key, id, data, mediaType)
  const type = mediaType.startsWith('image/') ? 'image' : 'file'
  return { type, id, mediaType, ...definedFields({ filename }), bytes: data.length }
}

/**
 * Reads the bytes of the messages' media from the output store, and attaches them. If the bytes of an image or a
 * file are lost (`missing`), a note replaces that image or file.
 */
export async function attachMedia(
  messages: readonly RequestMessage[],
  key: SessionKey,
  outputs: Pick<OutputStore, 'read'>,
): Promise<{ readonly messages: readonly RequestMessage[]; readonly missing: readonly RequestMedia[] }> {
  const missing: RequestMedia[] = []
  if (!messages.some(hasMedia)) return { messages, missing }
  const attach = async (part: RequestText | RequestMedia): Promise<RequestText | RequestMedia> => {
    if (part.type === 'text') return part
    try {
      return { ...part, data: await outputs.read(key, part.id) }
    } catch (error) {
      if (!(error instanceof TooltrailError) || error.code !== 'output_not_found') throw error
      missing.push(part)
      return { type: 'text', text: goneText(part) }
    }
  }
  const attached = await Promise.all(
    messages.map(async (message): Promise<RequestMessage> => {
      if (message.role === 'assistant') return message
      return { ...message, parts: await Promise.all(message.parts.map(attach)) }
    }),
  )
  return { messages: attached, missing }
}

const hasMedia = (message: RequestMessage): boolean =>
  message.parts.some((part) => part.type === 'image' || part.type === 'file')

/** The note that replaces media that are no longer sent. */
export function mediaNote(media: readonly MediaPart[]): string {
  const seen = { image: 0, file: 0 }
  const names = media.map(({ type, filename }) => {
    seen[type]++
    return filename ?? `${type} ${seen[type]}`
  })
  const [is, its] = names.length === 1 ? ['it is', 'its'] : ['they are', 'their']
  return `<system_note>The user added ${names.join(', ')} to the message, but ${is} no longer available to view: infer ${its} content from the messages before and after.</system_note>`
}
