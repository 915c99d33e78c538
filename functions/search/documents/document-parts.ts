import type { Message } from '../../domain/messages/message.ts'

/** Every name that a message's documents can have when there are at most `documents` of them. */
export function documentParts(role: Message['role'], documents: number): string[] {
  const texts = (letter: string): string[] =>
    Array.from({ length: documents }, (_, index) => (index === 0 ? letter : `${letter}${index}`))
  if (role === 'user') return texts('u')
  if (role === 'assistant') return texts('a')
  return [...texts('c'), ...Array.from({ length: documents }, (_, index) => `r${index}`)]
}
