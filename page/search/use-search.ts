import { useEffect, useRef, useState } from 'preact/hooks'
import type { SearchHit, SearchPage } from '../../functions/client/api-types.ts'
import type { SearchQuery } from '../../functions/client/client.ts'
import { client } from '../shell/api.ts'
import { go } from '../shell/place.ts'
import { addressOf } from './plain-snippet.ts'

/** Names of the search filters: in the page's address, and in the API. */
export const FILTERS = {
  role: 'role',
  tool: 'tool',
  status: 'status',
  session: 'session',
  agent: 'agent',
  owner: 'owner',
  folder: 'metadata.folder',
  source: 'metadata.source',
  since: 'since',
  until: 'until',
  sort: 'sort',
  dates: 'dates',
} as const

/** Delay between the last key and the search. The search itself takes a few milliseconds. */
const PAUSE_MS = 90
const PAGE = 20

export interface Found {
  /** The query of these hits, as it is in the page's address. */
  readonly name: string
  readonly hits: readonly SearchHit[]
  readonly next: string | null
  readonly incomplete: boolean
  /** How the API interpreted the query; undefined before the first response. */
  readonly understood: SearchPage['understood'] | undefined
  readonly ms: number
  readonly error: unknown
}
const NOTHING: Found = {
  ...{ name: '', hits: [], next: null, incomplete: false },
  ...{ understood: undefined, ms: 0, error: undefined },
}

/** Returns the result of the query in the page's address. `open` opens the first hit as soon as it is found. */
export function useSearch(query: URLSearchParams) {
  const name = query.toString()
  const [found, setFound] = useState<Found>(NOTHING)
  useEffect(() => {
    if ((query.get('q') ?? '').trim() === '') return setFound(NOTHING)
    const leaving = new AbortController()
    const timer = setTimeout(() => void search(query, leaving.signal, setFound), PAUSE_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [name])

  /** The query whose first hit is opened as soon as the hit is found. Set if Enter was pressed before the response. */
  const awaited = useRef<string | undefined>(undefined)
  const open = (): void => {
    const first = found.hits[0]
    awaited.current = found.name === name ? undefined : name
    if (found.name === name && first !== undefined) go(addressOf(first))
  }
  useEffect(() => {
    if (awaited.current !== undefined && awaited.current === found.name) open()
  }, [found])
  /** Adds a page of hits. The page is dropped if other hits have arrived since it was requested. */
  const add = (page: Found): void => setFound((now) => (now === found ? page : now))
  return { found, isCurrent: found.name === name, open, showMore: () => void more(buildQuery(query), found, add) }
}

/** Builds the API's query. Hits are grouped by session, unless the search is within one session. */
function buildQuery(query: URLSearchParams): SearchQuery {
  const filters = Object.entries(FILTERS).flatMap(([name, field]) => {
    const value = query.get(name)
    return value === null || value === '' ? [] : [[field, value]]
  })
  const group = (query.get('session') ?? '') === '' ? { group: 'session' as const } : {}
  const zone = { time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone }
  return {
    q: query.get('q') ?? '',
    limit: PAGE,
    ...zone,
    ...group,
    ...(Object.fromEntries(filters) as Partial<SearchQuery>),
  }
}

async function search(query: URLSearchParams, signal: AbortSignal, show: (found: Found) => void): Promise<void> {
  const begun = performance.now()
  const name = query.toString()
  try {
    const { data, next, incomplete = false, understood } = await client.search(buildQuery(query), { signal })
    const ms = Math.round(performance.now() - begun)
    if (!signal.aborted) show({ name, hits: data, next, incomplete, understood, ms, error: undefined })
  } catch (error) {
    if (!signal.aborted) show({ ...NOTHING, name, error })
  }
}

async function more(query: SearchQuery, found: Found, show: (found: Found) => void): Promise<void> {
  try {
    const page = await client.search({ ...query, after: found.next ?? undefined })
    show({ ...found, hits: [...found.hits, ...page.data], next: page.next })
  } catch (error) {
    show({ ...found, error })
  }
}
