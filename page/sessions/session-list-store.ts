import type { SessionPage } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'
import { buildQuery, NO_FILTERS } from './session-filters.ts'
import type { SessionFilters } from './session-filters.ts'
import { PAGE, withNewest } from './session-pages.ts'
import type { Known } from './session-pages.ts'

const OLDER = 100
const POLL_INTERVAL_MS = 3_000

export interface SessionList extends Known {
  readonly filters: SessionFilters
  /** Whether the sessions match the current filters. False while they still match earlier filters. */
  readonly isCurrent: boolean
  /** Number of pages read since the filters changed. */
  readonly pagesRead: number
  readonly loading: boolean
  readonly error: unknown
}

export interface SessionListStore extends Store<SessionList> {
  filter(filters: SessionFilters): void
  more(): Promise<void>
  refresh(): Promise<void>
  /** Removes a deleted session. */
  drop(id: string): void
  close(): void
}

const NOTHING: SessionList = {
  sessions: [],
  next: null,
  filters: NO_FILTERS,
  isCurrent: false,
  pagesRead: 0,
  loading: true,
  error: undefined,
}

/**
 * Opens the list of sessions, those with the newest activity first. The list is polled every few seconds while the page
 * is visible.
 */
export function openSessionList(): SessionListStore {
  const store = createStore(NOTHING)
  const change = (part: Partial<SessionList>): void => store.set({ ...store.get(), ...part })
  const readFirst = firstPageReader()
  let newest = 0
  let isReading = false
  let isExtending = false

  async function refresh(): Promise<void> {
    const request = ++newest
    const { filters } = store.get()
    isReading = true
    try {
      const show = await readFirst(filters)
      if (request !== newest) return
      change({ ...show(store.get()), isCurrent: true, loading: isExtending, error: undefined })
    } catch (error) {
      if (request === newest) change({ error, loading: isExtending })
    } finally {
      if (request === newest) isReading = false
    }
  }

  async function more(): Promise<void> {
    const { next, filters, isCurrent } = store.get()
    if (next === null || isExtending || !isCurrent) return
    isExtending = true
    change({ loading: true })
    try {
      const page = await client.listSessions(buildQuery(filters, OLDER, next))
      if (store.get().filters !== filters) return
      change(withOlder(store.get(), page))
    } catch (error) {
      if (store.get().filters === filters) change({ error })
    } finally {
      isExtending = false
      change({ loading: !store.get().isCurrent })
    }
  }

  // No poll starts while a request is in flight, because a new request would discard the response of the earlier one.
  const stop = pollWhileSeen(() => {
    if (!isReading) void refresh()
  })
  void refresh()

  return {
    ...store,
    refresh,
    more,
    drop: (id) => change({ sessions: store.get().sessions.filter((session) => session.id !== id) }),
    filter(filters) {
      change({ filters, isCurrent: false, pagesRead: 0, loading: true, error: undefined })
      void refresh()
    },
    close: stop,
  }
}

/**
 * Creates a function `read` that reads the first page of a list. `read` resolves to a function `add`, which adds the page to
 * the list and stores the page's tag. Call `add` only if the page is shown. If the tag of a page that is not shown were
 * stored, a later response 304 would hide that page.
 */
function firstPageReader() {
  let shown: { readonly filters: SessionFilters; readonly etag: string | undefined } | undefined
  return async (filters: SessionFilters) => {
    const etag = shown?.filters === filters ? shown.etag : undefined
    const read = await client.listChangedSessions(buildQuery(filters, PAGE, undefined), etag)
    return (list: SessionList): Partial<SessionList> => {
      if (read === undefined) return {}
      const known = shown?.filters === filters ? list : NOTHING
      shown = { filters, etag: read.etag }
      return withNewest(known, read.page)
    }
  }
}

/**
 * Calls `poll` every few seconds while the page is visible, and at once when it becomes visible. Returns a function
 * that stops polling.
 */
function pollWhileSeen(poll: () => void): () => void {
  const pollIfSeen = (): void => {
    if (!document.hidden) poll()
  }
  const timer = setInterval(pollIfSeen, POLL_INTERVAL_MS)
  document.addEventListener('visibilitychange', pollIfSeen)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', pollIfSeen)
  }
}

/** Appends a page of older sessions. */
function withOlder({ sessions, pagesRead }: SessionList, page: SessionPage): Partial<SessionList> {
  const known = new Set(sessions.map(({ id }) => id))
  const added = page.data.filter(({ id }) => !known.has(id))
  return { sessions: [...sessions, ...added], next: page.next, pagesRead: pagesRead + 1 }
}
