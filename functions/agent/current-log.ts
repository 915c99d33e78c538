import { definedFields } from '../domain/defined-fields.ts'
import type { MessageRange } from '../domain/context.ts'
import type { Message } from '../domain/messages/message.ts'
import { boundsOutside, supersededRanges } from '../domain/runs/replacement.ts'
import type { SessionKey } from '../domain/session.ts'
import { messageLength } from '../log/message-length.ts'
import { withoutSupersededDecisions } from '../log/request/superseded-context.ts'
import type { LogReader, MessageQuery } from '../ports/log-reader.ts'

type Page = Awaited<ReturnType<LogReader['messages']>>

/**
 * Reads logs without superseded messages, because requests must not send them. Reads of a single run or message include
 * superseded ones. A reader reads the replacements of a session only once, so each run and each request needs a new reader.
 */
export function currentLog(reader: LogReader): LogReader {
  const known = new Map<string, Promise<MessageRange[]>>()
  const rangesOf = (key: SessionKey): Promise<MessageRange[]> => {
    const name = `${key.tenant} ${key.session}`
    const before = known.get(name)
    if (before !== undefined) return before
    const ranges = reader.replacements(key).then(supersededRanges)
    known.set(name, ranges)
    ranges.catch(() => known.delete(name))
    return ranges
  }
  return {
    replacements: (key) => reader.replacements(key),
    sources: (key, query) => reader.sources(key, query),
    message: (key, id) => reader.message(key, id),
    run: (key, id) => reader.run(key, id),
    runs: (key, query) => reader.runs(key, query),
    queued: (key, limit) => reader.queued(key, limit),
    steering: (key, limit) => reader.steering(key, limit),
    async context(key) {
      const [decided, ranges] = await Promise.all([reader.context(key), rangesOf(key)])
      return withoutSupersededDecisions(decided, ranges)
    },
    async messages(key, query) {
      return query.run === undefined
        ? readOutside(reader, key, query, await rangesOf(key))
        : reader.messages(key, query)
    },
  }
}

/** Reads a page of the messages outside of these ranges. Each part of the log between two ranges is read separately. */
async function readOutside(
  reader: LogReader,
  key: SessionKey,
  query: MessageQuery,
  ranges: readonly MessageRange[],
): Promise<Page> {
  const { after, before, order, limit, mostCharacters = Infinity, ...filters } = query
  const outside = boundsOutside(ranges, definedFields({ after, before }))
  const found: Message[] = []
  let characters = 0
  for (const bounds of order === 'ascending' ? outside : outside.toReversed()) {
    const isFull = found.length >= limit || characters >= mostCharacters
    // If the page is full, one more message is read, to learn whether there are more.
    const rest = isFull ? { limit: 1 } : { limit: limit - found.length, ...restOf(mostCharacters - characters) }
    const page = await reader.messages(key, { ...filters, order, ...bounds, ...rest })
    if (isFull && page.messages.length > 0) return { messages: found, more: true }
    for (const message of page.messages) {
      found.push(message)
      characters += messageLength(message)
    }
    if (page.more) return { messages: found, more: true }
  }
  return { messages: found, more: false }
}

const restOf = (characters: number): Pick<MessageQuery, 'mostCharacters'> =>
  characters === Infinity ? {} : { mostCharacters: characters }
