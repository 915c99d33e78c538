import { readable } from '../../search/query/term-matches.ts'
import type { HistoryPlace, ListPlace } from './history-cursor.ts'
import { documentsBody, earlierBody, unitsBody, type EventList } from './list-bodies.ts'
import type { Found, SearchResponse } from './search-bodies.ts'

/** Maximum number of requests per page. A page that reaches this limit is short. */
const MAX_REQUESTS = 10
/** Documents per request if the text of each must be checked for a match. */
const MAX_SCANNED = 200
/** Minimum number of sessions per request. Many of them may be on earlier pages, and are then omitted. */
const GROUPS_AT_ONCE = 100

type Send = (body: object) => Promise<SearchResponse>

export interface Listed {
  /** One document per hit, in the order of the list. */
  readonly documents: readonly Found[]
  /** Position of the next page; undefined at the end of the list. */
  readonly next: Pick<HistoryPlace, 'list'> | undefined
}

interface Wanted {
  readonly after: ListPlace | undefined
  readonly limit: number
  /** Texts that a document must contain, for queries of symbols. */
  readonly pieces: readonly string[]
}

/** Returns the next hits of a list, each event or session once. */
export async function readList(send: Send, list: EventList, { after, limit, pieces }: Wanted): Promise<Listed> {
  const documents: Found[] = []
  const seen = new Set<string>()
  let place = after
  /** Position before the event that was read last. Other documents of that event may follow. */
  let before = after
  let from: readonly unknown[] | undefined
  for (let request = 0; request < MAX_REQUESTS; request++) {
    const part = { without: list.unit === 'session' ? [...seen] : [], size: sizeOf(list, limit, pieces) }
    const response = await send(
      pieces.length === 0 ? unitsBody(list, { ...part, after: place }) : documentsBody(list, { ...part, after, from }),
    )
    const found = response.hits.hits
    const fitting = found.filter(({ _source }) => hasAll(pieces, _source.text) && !seen.has(_source[list.unit]))
    const passed = after === undefined ? new Set() : await unitsBefore(send, list, fitting, { place: after, pieces })
    for (const document of found) {
      const { [list.unit]: unit, message, time } = document._source
      if (passed.has(unit)) seen.add(unit)
      if (fitting.includes(document) && !seen.has(unit)) {
        if (documents.length === limit) return { documents, next: nextOf(place?.message === message ? before : place) }
        documents.push(document)
        seen.add(unit)
      }
      if (place?.message !== message) before = place
      place = { message, time }
    }
    if (found.length < part.size) return { documents, next: undefined }
    from = found.at(-1)?.sort
  }
  return { documents, next: nextOf(place) }
}

const nextOf = (list: ListPlace | undefined): Pick<HistoryPlace, 'list'> => (list === undefined ? {} : { list })

const sizeOf = ({ unit }: EventList, limit: number, pieces: readonly string[]): number =>
  pieces.length > 0 ? MAX_SCANNED : unit === 'session' ? Math.max(limit + 1, GROUPS_AT_ONCE) : limit + 1

const hasAll = (pieces: readonly string[], text: string): boolean => {
  if (pieces.length === 0) return true
  const { lowered } = readable(text)
  return pieces.every((piece) => lowered.includes(piece))
}

/** Returns the units of these documents that an earlier page has shown. Such a unit has a document before `place`. */
async function unitsBefore(
  send: Send,
  list: EventList,
  documents: readonly Found[],
  { place, pieces }: { readonly place: ListPlace; readonly pieces: readonly string[] },
): Promise<Set<string>> {
  // All documents of an event have the same age, so no event can be on two pages.
  if (documents.length === 0 || (list.unit === 'event' && list.sort === 'relevance')) return new Set()
  const units = [...new Set(documents.map(({ _source }) => _source[list.unit]))]
  const isCollapsed = pieces.length === 0
  const size = isCollapsed ? units.length : MAX_SCANNED
  const { hits } = await send(earlierBody(list, { units, place, size, isCollapsed }))
  const shown = isCollapsed ? hits.hits : hits.hits.filter(({ _source }) => hasAll(pieces, _source.text))
  return new Set(shown.map(({ _source }) => _source[list.unit]))
}
