import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Queries, SearchHit } from '../../functions/client/api-types.ts'
import { useTitles } from '../sessions/session-titles.ts'
import { client } from '../shell/api.ts'
import { Failure } from '../shell/failure.tsx'
import { snippet } from '../shell/marks.tsx'
import { go, href, usePlace } from '../shell/place.ts'
import { hasScreenKeyboard } from '../shell/touch.ts'
import { moment, whole } from '../shell/times.ts'
import { plural } from '../shell/words.ts'
import { FILTERS, SearchFilters } from './search-filters.tsx'

/** After the last key; a search takes a few milliseconds. */
const PAUSE_MS = 90

interface Found {
  /** The address's query that was asked for. */
  readonly name: string
  readonly hits: readonly SearchHit[]
  readonly next: string | null
  readonly incomplete: boolean
  readonly ms: number
  readonly error: unknown
}
const NOTHING: Found = { name: '', hits: [], next: null, incomplete: false, ms: 0, error: undefined }

/** Everything that was said and done, searched while somebody types. The address has the whole query. */
export function SearchView() {
  const { query } = usePlace()
  const text = query.get('q') ?? ''
  const { found, isCurrent, open, showMore } = useSearch(query)
  const titles = useTitles(found.hits.map(({ session_id: id }) => id))
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLOListElement>(null)

  useEffect(() => {
    document.title = text === '' ? 'Search · Tooltrail' : `${text} · Tooltrail`
    if (text === '' || !hasScreenKeyboard()) field.current?.focus()
  }, [])
  const change = (values: { readonly [name: string]: string }): void => {
    const next = new URLSearchParams(query)
    for (const [key, value] of Object.entries(values))
      if (value === '') next.delete(key)
      else next.set(key, value)
    go(`/search?${next.toString()}`, { replace: true })
  }
  const press = (event: KeyboardEvent): void => pressed(event, { list: list.current, field: field.current, open })
  return (
    <section class="search" aria-label="Search">
      <h1 class="visually-hidden">Search</h1>
      <header class="search-head">
        <a class="back" href={href('/')} aria-label="All sessions">
          ‹
        </a>
        <SearchField element={field} text={text} change={(q) => change({ q })} press={press} />
        <SearchFilters query={query} change={change} />
      </header>
      <div class="search-body">
        {isCurrent && found.error !== undefined ? (
          <Failure error={found.error} />
        ) : (
          <Summary text={text} found={isCurrent ? found : undefined} />
        )}
        <ol id="hits" ref={list} aria-label="Hits" onKeyDown={press}>
          {found.hits.map((hit) => (
            <Hit key={hit.message_id + hit.role} hit={hit} title={titles.get(hit.session_id)} />
          ))}
        </ol>
        {found.next === null || !isCurrent ? null : (
          <button type="button" class="more" onClick={showMore}>
            More hits
          </button>
        )}
      </div>
    </section>
  )
}

function SearchField(props: {
  readonly element: RefObject<HTMLInputElement | null>
  readonly text: string
  readonly change: (text: string) => void
  readonly press: (event: KeyboardEvent) => void
}) {
  return (
    <input
      ref={props.element}
      class="search-field"
      type="search"
      enterkeyhint="search"
      aria-label="Search everything that was said and done"
      placeholder="What was said, which tool was called, what came back…"
      value={props.text}
      maxLength={1_000}
      onInput={(event) => props.change(event.currentTarget.value)}
      onKeyDown={props.press}
    />
  )
}

/** What the address's query finds. `open` goes to the first hit, once it is there. */
function useSearch(query: URLSearchParams) {
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

  /** Somebody was faster than the search: what it finds is opened as soon as it is there. */
  const awaited = useRef<string | undefined>(undefined)
  const open = (): void => {
    const first = found.hits[0]
    awaited.current = found.name === name ? undefined : name
    if (found.name === name && first !== undefined) go(addressOf(first))
  }
  useEffect(() => {
    if (awaited.current !== undefined && awaited.current === found.name) open()
  }, [found])
  /** Unless another query or page has come since. */
  const add = (page: Found): void => setFound((now) => (now === found ? page : now))
  return { found, isCurrent: found.name === name, open, showMore: () => void more(queryOf(query), found, add) }
}

interface Focusable {
  readonly list: HTMLElement | null
  readonly field: HTMLElement | null
  readonly open: () => void
}

/** Arrows go from the field to the hits, and between them. */
function pressed(event: KeyboardEvent, { list, field, open }: Focusable): void {
  const links = [...(list?.querySelectorAll('a') ?? [])]
  const at = links.findIndex((link) => link === document.activeElement)
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step !== 0) {
    event.preventDefault()
    const next = at === -1 && step === -1 ? undefined : links[Math.min(links.length - 1, at + step)]
    if (next === undefined) field?.focus()
    else next.focus()
  }
  if (event.key === 'Enter' && at === -1) {
    // A screen keyboard closes, and the hits are seen.
    if (hasScreenKeyboard()) field?.blur()
    else open()
  }
  if (event.key === 'Escape') field?.focus()
}

const addressOf = (hit: SearchHit): string => `/sessions/${encodeURIComponent(hit.session_id)}#${hit.message_id}`

/** `found`: undefined while what was asked for is still searched. */
function Summary({ text, found }: { readonly text: string; readonly found: Found | undefined }) {
  if (text.trim() === '')
    return (
      <p class="quiet search-hint">
        Find anything an agent ever did: words, parts of identifiers, paths, error messages, arguments of a call, lines
        of its output. <kbd>↓</kbd> <kbd>↑</kbd> choose a hit, <kbd>Enter</kbd> opens it where it happened.
      </p>
    )
  if (found === undefined)
    return (
      <p class="quiet" role="status">
        Searching…
      </p>
    )
  const words =
    found.hits.length === 0
      ? 'Nothing found'
      : found.next === null
        ? plural(found.hits.length, 'hit')
        : `${found.hits.length}+ hits`
  return (
    <p class="quiet" role="status">
      {words}
      {found.ms === 0 ? '' : ` in ${found.ms} ms`}
      {found.incomplete ? '; the newest entries are still being indexed' : ''}
    </p>
  )
}

/** `title`: its session's, if it has one. */
function Hit({ hit, title }: { readonly hit: SearchHit; readonly title: string | undefined }) {
  return (
    <li class={`hit ${hit.role}`}>
      <a href={href(addressOf(hit))}>
        <header>
          <span class="label">{hit.label.toLowerCase()}</span>
          {hit.tool_name === undefined ? null : <code>{hit.tool_name}</code>}
          {hit.status === undefined || hit.status === 'completed' ? null : (
            <span class={`state ${hit.status}`}>{hit.status}</span>
          )}
          <span class="grow" />
          <span class="quiet hit-session" title={hit.session_id}>
            {title ?? hit.session_id}
          </span>
          <time class="quiet" dateTime={hit.created_at} title={whole(hit.created_at)}>
            {moment(hit.created_at)}
          </time>
        </header>
        <Neighbour of={hit.before} />
        <p class="snippet">{snippet(hit.snippet)}</p>
        <Neighbour of={hit.after} />
      </a>
    </li>
  )
}

function Neighbour({ of }: { readonly of: SearchHit['before'] }) {
  if (of === null) return null
  return (
    <p class="neighbour">
      <span class="label">{of.label.toLowerCase()}</span> {of.text}
    </p>
  )
}

type Query = Queries['searchHistory']

function queryOf(query: URLSearchParams): Query {
  const filters = FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))
  return { q: query.get('q') ?? '', limit: 20, ...(Object.fromEntries(filters) as Partial<Query>) }
}

async function search(query: URLSearchParams, signal: AbortSignal, show: (found: Found) => void): Promise<void> {
  const begun = performance.now()
  const name = query.toString()
  try {
    const { data, next, incomplete = false } = await client.search(queryOf(query), { signal })
    if (!signal.aborted)
      show({ name, hits: data, next, incomplete, ms: Math.round(performance.now() - begun), error: undefined })
  } catch (error) {
    if (!signal.aborted) show({ ...NOTHING, name, error })
  }
}

async function more(query: Query, found: Found, show: (found: Found) => void): Promise<void> {
  try {
    const page = await client.search({ ...query, after: found.next ?? undefined })
    show({ ...found, hits: [...found.hits, ...page.data], next: page.next })
  } catch (error) {
    show({ ...found, error })
  }
}
