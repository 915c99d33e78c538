import type { Citations } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { NumberedSources } from '../../../domain/messages/source.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { SourceResource } from './schema.ts'
import { citedOf } from './resource.ts'

/**
 * Limit of the results read for one page. A page with a strict filter may have few or no sources and still be followed
 * by another page.
 */
const MAX_RESULTS = 200
const AT_ONCE = 20
const MAX_CHARACTERS = 4_000_000

interface Wanted {
  readonly after: number
  readonly limit: number
  readonly cited: boolean | undefined
}

/** Reads a page of a session's sources, by number. */
export async function sourcePage(
  reader: LogReader,
  key: SessionKey,
  { after, limit, cited }: Wanted,
): Promise<{ data: SourceResource[]; next: string | null }> {
  const { citations } = await reader.context(key)
  const data: SourceResource[] = []
  let characters = 0
  let last = after
  for (let read = 0, more = true; more;) {
    const page = await reader.sources(key, { order: 'ascending', after: last, limit: AT_ONCE })
    read += page.numbered.length
    more = page.more
    for (const numbered of page.numbered) {
      for (const one of await sourcesOf(reader, key, numbered, citations)) {
        if (one.number <= last) continue
        const isWanted = cited === undefined || one.cited === cited
        if (isWanted) characters += lengthOf(one)
        const isFull = data.length >= limit || (data.length > 0 && characters > MAX_CHARACTERS)
        if (isWanted && isFull) return { data, next: String(last) }
        if (isWanted) data.push(one)
        last = one.number
      }
      // A result that no longer exists has no sources to show.
      last = Math.max(last, numbered.from + numbered.count - 1)
    }
    if (more && read >= MAX_RESULTS) return { data, next: String(last) }
  }
  return { data, next: null }
}

const lengthOf = ({ title, url = '', text = '' }: SourceResource): number => title.length + url.length + text.length

async function sourcesOf(
  reader: LogReader,
  key: SessionKey,
  { message: id, from }: NumberedSources,
  citations: Citations | undefined,
): Promise<SourceResource[]> {
  const message = await reader.message(key, id)
  if (message?.role !== 'tool') return []
  return (message.sources ?? []).map((source, place) => resource(message, source, from + place, citations))
}

const resource = (
  { id: messageId, runId }: ToolMessage,
  { title, url, text, id }: NonNullable<ToolMessage['sources']>[number],
  number: number,
  citations: Citations | undefined,
): SourceResource => ({
  object: 'source',
  number,
  title,
  ...definedFields({ url, text, id }),
  cited: citedOf(citations, number),
  message_id: messageId,
  run_id: runId,
})
