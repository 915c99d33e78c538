import { supersededBy } from '../domain/runs/replacement.ts'
import { searchSupersededLast } from '../search/superseded-last.ts'
import { cutBefore } from '../domain/session-title.ts'
import { definedFields } from '../domain/defined-fields.ts'
import type { HistoryEntries, HistoryEntry, HistoryHit, HistoryNeighbour, HistoryQuery } from '../domain/history.ts'
import type { Message } from '../domain/messages/message.ts'
import type { SessionKey, SessionLabel } from '../domain/session.ts'
import { entriesOf, neighbour, shorten, type LogEntry } from '../search/documents/entries.ts'
import { redactSecrets } from '../search/redaction/redact.ts'
import { understoodOf } from '../search/understood.ts'
import { withoutMarks } from '../search/documents/snippet.ts'
import { hasSources } from '../log/sources.ts'
import type { HistoryIndex } from '../ports/history-index.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { fitsMetadata, searchWithMetadata } from './metadata-search.ts'
import { findNumbers } from './source-numbers.ts'

export interface HistorySearch {
  search(query: HistoryQuery): Promise<HistoryEntries>
}

interface Dependencies {
  readonly index: HistoryIndex
  readonly reader: LogReader
  readonly sessions: Pick<SessionStore, 'findIds' | 'readLabels'>
}

/** Number of hits whose messages are read concurrently. A message may have megabytes. */
const AT_ONCE = 4
/** Number of messages in the first read on each side of a hit. One of them nearly always has text that can be shown. */
const NEAR = 4
/** A read of neighbours ends after this many characters. At most 300 of each neighbour are shown. */
const NEAR_CHARACTERS = 64 * 1024
/**
 * Number of messages per further read, and maximum number of reads. Further reads are made if none of the first messages has a
 * text.
 */
const FAR = 100
const MAX_READS = 20
/**
 * Number of characters of an entry that are redacted before its first 300 are shown. A secret that begins within the first 300
 * characters ends within this part.
 */
const REDACTED_PART = 10_000

/**
 * Creates the search for users. It returns each hit with the entries before and after it. It reads only the log around the hit.
 * Hits of deleted messages are omitted. Finally, it reads the titles of the hits' sessions, and omits hits of deleted sessions.
 */
export function createHistorySearch({ index, reader, sessions }: Dependencies): HistorySearch {
  return {
    async search(query) {
      const { tenant } = query.scope
      const { hits, ...page } = await searchWithMetadata({ index: supersededLast(index), sessions }, query)
      const found: (HistoryEntry | undefined)[] = []
      const left = hits.entries()
      const work = async (): Promise<void> => {
        for (const [place, hit] of left) found[place] = await entryOf(reader, tenant, hit)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      const entries = found.filter((entry) => entry !== undefined)
      const named = [...new Set(entries.map(({ session }) => session))]
      const labels = named.length === 0 ? NO_LABELS : await sessions.readLabels(tenant, named)
      const shownLabels = new Map<string, SessionLabel>()
      for (const [session, label] of labels) shownLabels.set(session, await withoutSecrets(label))
      return {
        ...page,
        entries: entries.flatMap((entry) => labelled(entry, shownLabels.get(entry.session), query)),
        understood: understoodOf(query),
      }
    },
  }
}

/** Lists superseded hits after all others. */
const supersededLast = (index: HistoryIndex): Pick<HistoryIndex, 'search'> => ({
  search: (query) => searchSupersededLast(query, index),
})

const NO_LABELS: ReadonlyMap<string, SessionLabel> = new Map()

/** Redacts a title. A title made of the first input may contain its secrets. */
const withoutSecrets = async ({ title, ...label }: SessionLabel): Promise<SessionLabel> => ({
  ...label,
  ...definedFields({ title: title === undefined ? undefined : await redactSecrets(title) }),
})

/**
 * Adds the session's title and folder to an entry. Returns nothing if the session is deleted or no longer matches the
 * filter.
 */
function labelled(entry: HistoryEntry, label: SessionLabel | undefined, { filters }: HistoryQuery): HistoryEntry[] {
  if (label === undefined || !fitsMetadata(filters, label)) return []
  const { folder } = label.metadata
  return [
    {
      ...entry,
      ...definedFields({ sessionTitle: label.title, folder: typeof folder === 'string' ? folder : undefined }),
    },
  ]
}

async function entryOf(reader: LogReader, tenant: string, hit: HistoryHit): Promise<HistoryEntry | undefined> {
  const key = { tenant, session: hit.session }
  const own = await ownPart(reader, key, hit)
  if (own === undefined) return undefined
  const by = supersededBy(await reader.replacements(key), hit.runId)
  const before = own.before ?? (await nearest(reader, key, hit.messageId, 'descending'))
  const after = own.after ?? (await nearest(reader, key, hit.messageId, 'ascending'))
  return { ...hit, ...own, ...definedFields({ before, after, supersededBy: by }) }
}

/**
 * Returns the fields that are read from a hit's own message. The fields are short, so that a long message need not stay
 * in memory while others are read.
 */
async function ownPart(
  reader: LogReader,
  key: SessionKey,
  hit: HistoryHit,
): Promise<Pick<HistoryEntry, 'text' | 'origin' | 'sources' | 'before' | 'after'> | undefined> {
  const message = await reader.message(key, hit.messageId)
  if (message === undefined) return undefined
  const own = entriesOf([message])
  const place = own.findIndex((entry) => entry.role === hit.role)
  const [before, after] = [own[place - 1], own[place + 1]]
  return {
    text: await hitText(hit, own[place]),
    ...(message.role === 'tool' ? definedFields({ origin: message.origin }) : {}),
    ...(hit.role === 'tool_result' ? await sourcesOf(reader, key, message) : {}),
    ...(before === undefined ? {} : { before: await shown(before) }),
    ...(after === undefined ? {} : { after: await shown(after) }),
  }
}

/** Returns a hit's sources with their numbers. */
async function sourcesOf(reader: LogReader, key: SessionKey, message: Message): Promise<Pick<HistoryEntry, 'sources'>> {
  const from = hasSources(message) ? (await findNumbers(reader, key, [message])).get(message.id) : undefined
  if (from === undefined || !hasSources(message)) return {}
  const titles = await Promise.all(message.sources.map(({ title }) => redactSecrets(title)))
  return { sources: titles.map((title, place) => ({ number: from + place, title })) }
}

/** Returns the whole text of a short entry. For a long entry, returns the part that matched. */
async function hitText(hit: HistoryHit, own: LogEntry | undefined): Promise<string> {
  if (own === undefined || shorten(own.text) !== own.text) return withoutMarks(hit.snippet)
  return shorten(await redactSecrets(own.text))
}

/** Renders a neighbour with its secrets redacted. Search shows no secret, neither in a hit nor beside it. */
async function shown(entry: LogEntry): Promise<HistoryNeighbour> {
  const { label, text } = neighbour(entry)
  const redacted = await redactSecrets(cutBefore(entry.text, REDACTED_PART))
  return entry.text.startsWith(redacted) ? { label, text } : { label, text: shorten(redacted) }
}

/** Finds the next entry on one side of a message. */
async function nearest(
  reader: LogReader,
  key: SessionKey,
  message: string,
  order: 'ascending' | 'descending',
): Promise<HistoryNeighbour | undefined> {
  let edge = message
  for (let read = 0; read < MAX_READS; read++) {
    const bound = order === 'ascending' ? { after: edge } : { before: edge }
    const limit = read === 0 ? NEAR : FAR
    const page = await reader.messages(key, { ...bound, order, limit, mostCharacters: NEAR_CHARACTERS })
    for (const other of page.messages) {
      const entries = entriesOf([other])
      const entry = order === 'ascending' ? entries[0] : entries.at(-1)
      if (entry !== undefined) return shown(entry)
      edge = other.id
    }
    if (!page.more) return undefined
  }
  return undefined
}
