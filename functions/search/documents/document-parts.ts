import type { Message } from '../../domain/messages/message.ts'

/**
 * Returns every part name that the documents of a message can have, if the message has at most `documents` documents.
 */
export function documentParts(role: Message['role'], documents: number): string[] {
  const texts = (letter: string): string[] =>
    Array.from({ length: documents }, (_, index) => (index === 0 ? letter : `${letter}${index}`))
  if (role === 'user') return texts('u')
  if (role === 'assistant') return texts('a')
  return [...texts('c'), ...Array.from({ length: documents }, (_, index) => `r${index}`)]
}
