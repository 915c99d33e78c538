import { TooltrailError } from '../../domain/errors.ts'
import type { UserPart } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { mediaNote, storeMedia } from '../media.ts'
import type { IncomingPart } from './agent-service.ts'

interface Dependencies {
  readonly outputs: OutputStore
  readonly clock: Clock
}

/**
 * Stores the media of a user's content. Returns the content with the note that replaces the media in later runs
 * (promises O4).
 */
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

/**
 * Accepts an input whose media are already stored. Removes these media if the input is rejected. Also removes them if
 * the input was accepted before, because the earlier request stored its own copy of the media. If the store fails, the
 * input may still have been accepted. The media then stay until the session is deleted.
 */
export async function keepingMedia<Accepted extends { readonly repeated: boolean }>(
  { outputs, logger }: Pick<Dependencies, 'outputs'> & { readonly logger: Logger },
  key: SessionKey,
  parts: readonly UserPart[],
  accept: () => Promise<Accepted>,
): Promise<Accepted> {
  const media = parts.flatMap((part) => (part.type === 'image' || part.type === 'file' ? [part] : []))
  const remove = async (): Promise<void> => {
    try {
      for (const { id } of media) await outputs.remove(key, id)
    } catch (error) {
      logger.warn('media of an input that was not accepted stay', { session: key.session, error: String(error) })
    }
  }
  try {
    const accepted = await accept()
    if (accepted.repeated) await remove()
    return accepted
  } catch (error) {
    if (error instanceof TooltrailError && error.code !== 'storage_failed') await remove()
    throw error
  }
}
