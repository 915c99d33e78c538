import type { Message, ToolMessage } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'
import { hasSources, recordedNumbers } from '../log/sources.ts'
import type { SourceNumbers } from '../log/sources.ts'
import type { LogReader } from '../ports/log-reader.ts'

/** Completions read at a time; nearly always the first is the one. */
const FEW = 4
const MAX_READS = 8

/**
 * The numbers of the sources of these messages' results, as the completions after them recorded them. Results that no
 * completion has followed have none.
 */
export async function findNumbers(
  reader: Pick<LogReader, 'messages'>,
  key: SessionKey,
  messages: readonly Message[],
): Promise<SourceNumbers> {
  const numbers = new Map(recordedNumbers(messages))
  for (const message of messages)
    if (hasSources(message) && !numbers.has(message.id))
      for (const [id, number] of await numbersAfter(reader, key, message)) numbers.set(id, number)
  return numbers
}

/** What the next completions of a result's own thread have recorded, up to the first that did not fail. */
async function numbersAfter(
  reader: Pick<LogReader, 'messages'>,
  key: SessionKey,
  result: ToolMessage,
): Promise<SourceNumbers> {
  let after = result.id
  for (let read = 0; read < MAX_READS; read++) {
    const query = { order: 'ascending', roles: ['assistant'], limit: FEW, after } as const
    const page = await reader.messages(key, query)
    for (const message of page.messages) {
      after = message.id
      const numbers = recordedNumbers([message])
      if (numbers.has(result.id) || endsSearch(message, result)) return numbers
    }
    if (!page.more) break
  }
  return new Map()
}

const endsSearch = (message: Message, result: ToolMessage): boolean =>
  message.role === 'assistant' &&
  message.parentToolCallId === result.parentToolCallId &&
  message.parts.every(({ type }) => type !== 'error')
