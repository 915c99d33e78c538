import { nextId } from '../../domain/ids.ts'
import type { MediaPart } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { IncomingMedia } from '../../ports/tool.ts'

interface Dependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** Stores the bytes of media, type sniffed, and returns parts that point to them: no bytes ever stand in a row (promises O4). */
export async function storeMedia(
  { outputs, clock }: Dependencies,
  key: SessionKey,
  media: readonly IncomingMedia[],
): Promise<MediaPart[]> {
  let id: string | undefined
  const stored: MediaPart[] = []
  for (const { data, filename, ...declared } of media) {
    id = nextId(id, clock.now())
    // Large, and few contents have media: loaded when one does.
    const { fileTypeFromBuffer } = await import('file-type')
    const mediaType = (await fileTypeFromBuffer(data))?.mime ?? declared.mediaType
    await outputs.put(key, id, data, mediaType)
    stored.push({
      type: mediaType.startsWith('image/') ? 'image' : 'file',
      id,
      mediaType,
      ...(filename === undefined ? {} : { filename }),
      bytes: data.length,
    })
  }
  return stored
}
