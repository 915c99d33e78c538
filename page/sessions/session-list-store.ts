import type { Queries } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'
import { PAGE, withNewest } from './session-pages.ts'
import type { Known } from './session-pages.ts'

const OLDER = 100
const LOOK_MS = 3_000

export interface SessionFilters {
  readonly owner: string
  readonly agent: string
  readonly status: NonNullable<Queries['listSessions']['run_status']> | ''
}
export interface SessionList extends Known {
  /** What titles, ids or owners are to have. */
  readonly words: string
  readonly loading: boolean
  readonly filters: SessionFilters
  readonly error: unknown
}

export interface SessionListStore extends Store<SessionList> {
  narrow(words: string): void
  filter(filters: SessionFilters): void
  more(): Promise<void>
  refresh(): Promise<void>
  /** Leaves out a session that is gone. */
  drop(id: string): void
  close(): void
}

const NOTHING: SessionList = {
  sessions: [],
  next: null,
  words: '',
  loading: true,
  filters: { owner: '', agent: '', status: '' },
  error: undefined,
}

/** The sessions, newest activity first; looked at again every few seconds while the page is seen. */
export function openSessionList(): SessionListStore {
  const store = createStore(NOTHING)
  const change = (part: Partial<SessionList>): void => store.set({ ...store.get(), ...part })
  let turn = 0
  const first = firstPageReader()
  let isReading = false

  async function refresh(): Promise<void> {
    const mine = ++turn
    isReading = true
    try {
      const { filters } = store.get()
      const page = await first(filters)
      const isShown = page === undefined || filters !== store.get().filters
      if (mine === turn) change({ ...(isShown ? {} : withNewest(store.get(), page)), loading: false, error: undefined })
    } catch (error) {
      if (mine === turn) change({ error, loading: false })
    }
    if (mine === turn) isReading = false
  }

  const look = (): void => {
    // A slow answer is waited for: it would never come if the next look took its place.
    if (!document.hidden && !isReading) void refresh()
  }
  const timer = setInterval(look, LOOK_MS)
  document.addEventListener('visibilitychange', look)
  void refresh()

  return {
    ...store,
    refresh,
    drop: (id) => change({ sessions: store.get().sessions.filter((session) => session.id !== id) }),
    narrow: (words) => change({ words }),
    filter(filters) {
      change({ filters, sessions: [], next: null, loading: true })
      void refresh()
    },
    async more() {
      const { next, loading, filters } = store.get()
      if (next === null || loading) return
      change({ loading: true })
      try {
        const page = await client.listSessions(queryOf(filters, next))
        if (store.get().filters !== filters) return
        const known = new Set(store.get().sessions.map(({ id }) => id))
        const added = page.data.filter(({ id }) => !known.has(id))
        change({ sessions: [...store.get().sessions, ...added], next: page.next, loading: false })
      } catch (error) {
        change({ error, loading: false })
      }
    },
    close() {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    },
  }
}

const queryOf = ({ owner, agent, status }: SessionFilters, after: string | undefined) => ({
  limit: after === undefined ? PAGE : OLDER,
  after,
  owner: owner === '' ? undefined : owner,
  agent: agent === '' ? undefined : agent,
  run_status: status === '' ? undefined : status,
})

/** Reads the first page of a list; undefined if it is the one that was read last, which costs no body. */
function firstPageReader() {
  let known: { readonly filters: SessionFilters; readonly etag: string | undefined } | undefined
  return async (filters: SessionFilters) => {
    const etag = known?.filters === filters ? known.etag : undefined
    const read = await client.listChangedSessions(queryOf(filters, undefined), etag)
    if (read !== undefined) known = { filters, etag: read.etag }
    return read?.page
  }
}
