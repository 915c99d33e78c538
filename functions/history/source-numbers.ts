import type { Message, ToolMessage } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'
import { hasSources, recordedNumbers } from '../log/sources.ts'
import type { SourceNumbers } from '../log/sources.ts'
import type { LogReader } from '../ports/log-reader.ts'

/**
 * Number of completions per read. Nearly always, a result's numbers are recorded in the first completion after the
 * result.
 */
const FEW = 4
const MAX_READS = 8

/**
 * Finds the source numbers of these results. A later completion of a result's thread records its numbers. Until that
 * completion is stored, the result has no numbers.
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

/**
 * Searches the later completions of this result's thread for the numbers of the result. The search ends at the first
 * completion without an error.
 */
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
