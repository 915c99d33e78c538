import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Failure } from '../shell/failure.tsx'
import { useFocusKept } from '../shell/focus-kept.ts'
import { go, href, usePlace } from '../shell/place.ts'
import { hasScreenKeyboard } from '../shell/touch.ts'
import { count, plural } from '../text/words.ts'
import { DateChip } from './date-chip.tsx'
import { HitGroups, MAX_MORE } from './hit-groups.tsx'
import { SearchFilters } from './search-filters.tsx'
import { useSearch } from './use-search.ts'
import type { Found } from './use-search.ts'

/** Searches the whole history while a person types. The address contains the whole query. */
export function SearchView() {
  const { query } = usePlace()
  const text = query.get('q') ?? ''
  const { found, isCurrent, open, showMore } = useSearch(query)
  const field = useRef<HTMLInputElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)

  useEffect(() => {
    document.title = text === '' ? 'Search · Tooltrail' : `${text} · Tooltrail`
    if (text === '' || !hasScreenKeyboard()) field.current?.focus()
  }, [])
  useFocusKept(body, '.hit-group:last-child .hit:last-child a')
  const addressWith = (values: { readonly [name: string]: string }): string => {
    const next = new URLSearchParams(query)
    for (const [key, value] of Object.entries(values))
      if (value === '') next.delete(key)
      else next.set(key, value)
    return `/search?${next.toString()}`
  }
  const change = (values: { readonly [name: string]: string }): void => go(addressWith(values), { replace: true })
  const press = (event: KeyboardEvent): void => pressed(event, { list: list.current, field: field.current, open })
  return (
    <section class="search" aria-label="Search">
      <h1 class="visually-hidden">Search</h1>
      <header class="search-head">
        <a class="back" href={href('/')} aria-label="All sessions">
          ‹
        </a>
        <SearchField element={field} text={text} change={(q) => change({ q, dates: '' })} press={press} />
        <SearchFilters query={query} change={change} />
      </header>
      <div class="search-body" ref={body}>
        {isCurrent && found.error !== undefined ? (
          <Failure error={found.error} />
        ) : (
          <Summary text={text} found={isCurrent ? found : undefined} />
        )}
        {isCurrent && found.understood !== undefined ? (
          <DateChip understood={found.understood} remove={() => change({ dates: 'words' })} />
        ) : null}
        {query.get('dates') === 'words' ? (
          <button type="button" class="chip date-chip" onClick={() => change({ dates: '' })}>
            Read dates again
          </button>
        ) : null}
        <ol id="hits" ref={list} aria-label="Hits" onKeyDown={press}>
          <HitGroups hits={found.hits} sessionAddress={(session) => addressWith({ session })} />
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

interface Focusable {
  readonly list: HTMLElement | null
  readonly field: HTMLElement | null
  readonly open: () => void
}

/** Handles the arrow keys. They move the focus from the field to the hits, and between hits. */
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
    // Removes the focus from the field. This closes the screen keyboard, so that the hits are visible.
    if (hasScreenKeyboard()) field?.blur()
    else open()
  }
  if (event.key === 'Escape') field?.focus()
}

/**
 * Shows the number of hits, or a hint if the query is empty. `found`: undefined while the search of the current query
 * is in progress.
 */
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
  return (
    <p class="quiet" role="status">
      {countText(found)}
      {found.ms === 0 ? '' : `, ${found.ms} ms`}
      {found.incomplete ? '; the newest entries are still being indexed' : ''}
    </p>
  )
}

/** Returns the number of hits and of their sessions, as text. */
function countText({ hits, next }: Found): string {
  if (hits.length === 0) return 'Nothing found'
  const sessions = new Set(hits.map(({ session_id: id }) => id)).size
  const all = hits.reduce((sum, { more = 0 }) => sum + 1 + more, 0)
  const hasMore = next !== null || hits.some(({ more = 0 }) => more >= MAX_MORE)
  return `${hasMore ? `${count(all)}+ hits` : plural(all, 'hit')} in ${plural(sessions, 'session')}`
}
