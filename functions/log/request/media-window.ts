import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import type { SessionContext } from '../../domain/context.ts'

const hasMedia = (message: Message): boolean =>
  message.role !== 'assistant' && message.parts.some((part) => part.type === 'image' || part.type === 'file')

/**
 * Returns the first of the newest `count` messages with images or files. Media are sent from this message on. Undefined
 * if at most `count` such messages are sent now, because no media need to be dropped then. `messages`: the loaded
 * messages, ids ascending.
 */
export function movedMedia(
  messages: readonly Message[],
  count: number,
  { media }: Pick<SessionContext, 'media'>,
): SessionContext['media'] {
  const sent = messages.filter(
    (message) => isLeaders(message) && hasMedia(message) && message.id >= (media?.from ?? ''),
  )
  const first = sent.at(-count)
  return sent.length <= count || first === undefined ? undefined : { from: first.id }
}
