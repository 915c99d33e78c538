import type { MediaPart, UserPart } from '../../domain/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { storeMedia } from '../loop/store-media.ts'
import type { IncomingPart } from './agent-service.ts'

interface Dependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** A user's content with its media stored, and the note that stands in for them in later runs (promises O4). */
export async function storeInput(
  dependencies: Dependencies,
  key: SessionKey,
  parts: readonly IncomingPart[],
): Promise<UserPart[]> {
  const media = await storeMedia(
    dependencies,
    key,
    parts.filter((part) => part.type !== 'text'),
  )
  if (media.length === 0) return parts.filter((part) => part.type === 'text')
  const stored = [...media]
  const inOrder = parts.flatMap((part): UserPart[] => (part.type === 'text' ? [part] : stored.splice(0, 1)))
  return [...inOrder, { type: 'note', text: mediaNote(media) }]
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
