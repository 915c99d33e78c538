import type { Message } from '../domain/messages/message.ts'
import type { Run, RunInput } from '../domain/runs/run.ts'

/** Returns the characters of a message's content: its texts, and the arguments of its calls. */
export function messageLength(message: Message): number {
  let length = 0
  for (const part of message.parts) if ('text' in part) length += part.text.length
  if (message.role === 'assistant') for (const call of message.toolCalls) length += call.arguments.length
  if (message.role !== 'tool') return length
  for (const { title, url = '', text = '' } of message.sources ?? []) length += title.length + url.length + text.length
  length += message.call.length
  return length
}

/** Returns the characters of a run's request, and of its output. */
export function runLength({ input, clientTools, instructions = '', settings, output = '' }: Run): number {
  const tools = clientTools.length === 0 ? 0 : JSON.stringify(clientTools).length
  const format = settings === undefined ? 0 : JSON.stringify(settings).length
  return instructions.length + tools + format + output.length + inputLength({ input })
}

/** Returns the number of characters in the texts of a run's waiting input. */
export function inputLength({ input }: { readonly input?: RunInput | undefined }): number {
  let length = 0
  for (const part of input?.parts ?? []) if ('text' in part) length += part.text.length
  return length
}

/**
 * Creates a page of entries. The page has at least one entry. It ends when the content of its entries reaches `most`
 * characters.
 */
export function createPage<Entry>(
  lengthOf: (entry: Entry) => number,
  limit: number,
  most = Number.POSITIVE_INFINITY,
): { readonly entries: readonly Entry[]; isFull(): boolean; take(entry: Entry): boolean } {
  const entries: Entry[] = []
  let length = 0
  return {
    entries,
    /** Whether the page accepts no further entry, however short. */
    isFull: () => entries.length >= limit || length > most,
    /** Adds an entry and returns true. If it does not fit, returns false: the next page begins with it. */
    take(entry) {
      length += lengthOf(entry)
      if (entries.length >= limit || (entries.length > 0 && length > most)) return false
      entries.push(entry)
      return true
    },
  }
}

/** Returns the characters of the content of all messages. */
export const totalLength = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + messageLength(message), 0)
