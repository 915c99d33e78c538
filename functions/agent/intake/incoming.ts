import { nextId } from '../../domain/ids.ts'
import type { MediaPart, TextPart, UserPart } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { IncomingPart } from './agent-service.ts'

interface Dependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** Stores the bytes of media parts, type sniffed, and answers parts that point to them: no bytes ever stand in a row. */
export async function storeMedia(
  { outputs, clock }: Dependencies,
  key: SessionKey,
  parts: readonly IncomingPart[],
): Promise<(TextPart | MediaPart)[]> {
  let id: string | undefined
  const stored: (TextPart | MediaPart)[] = []
  for (const part of parts) {
    if (part.type === 'text') {
      stored.push(part)
      continue
    }
    id = nextId(id, clock.now())
    // Large, and few inputs have media: loaded when one does.
    const { fileTypeFromBuffer } = await import('file-type')
    const mediaType = (await fileTypeFromBuffer(part.data))?.mime ?? part.mediaType
    await outputs.put(key, id, part.data, mediaType)
    stored.push({
      type: mediaType.startsWith('image/') ? 'image' : 'file',
      id,
      mediaType,
      ...(part.filename === undefined ? {} : { filename: part.filename }),
      bytes: part.data.length,
    })
  }
  return stored
}

/** A user's content with its media stored, and the note that stands in for them in later runs (promises O4). */
export async function storeInput(
  dependencies: Dependencies,
  key: SessionKey,
  parts: readonly IncomingPart[],
): Promise<UserPart[]> {
  const stored = await storeMedia(dependencies, key, parts)
  const media = stored.filter((part) => part.type !== 'text')
  return media.length === 0 ? stored : [...stored, { type: 'note', text: mediaNote(media) }]
}

/** The note on media that are no longer sent. */
export function mediaNote(media: readonly MediaPart[]): string {
  const seen = { image: 0, file: 0 }
  const names = media.map(({ type, filename }) => {
    seen[type]++
    return filename ?? `${type} ${seen[type]}`
  })
  const [is, its] = names.length === 1 ? ['it is', 'its'] : ['they are', 'their']
  return `<system_note>The user added ${names.join(', ')} to the message, but ${is} no longer available to view: infer ${its} content from the messages before and after.</system_note>`
}
