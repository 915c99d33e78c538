import type { Session } from '../../functions/client/api-types.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'
import { EMPTY_LOG } from '../log/log.ts'
import type { Log } from '../log/log.ts'
import type { Pending } from './sending.ts'

export interface Conversation {
  readonly session: Session | undefined
  readonly log: Log
  /** Whether there is more of the log before and after the part that is loaded. */
  readonly older: boolean
  readonly newer: boolean
  readonly loading: boolean
  /** Whether a part of the log has been loaded; until then nobody knows what is in it. */
  readonly loaded: boolean
  /** To the run's events. `lost`: it is tried again; `left`: nobody saw the page, and what has happened since is not shown yet. */
  readonly connection: 'live' | 'lost' | 'left'
  /** What was sent and is not in the log yet. */
  readonly pending: readonly Pending[]
  readonly error: unknown
}

/** What is shown of an open session, and how it changes. */
export interface SessionView {
  readonly id: string
  readonly store: Store<Conversation>
  /** Aborts when the session is closed. */
  readonly signal: AbortSignal
  change(part: Partial<Conversation>): void
  changeLog(make: (log: Log) => Log): void
  /** Does the work, and shows why it failed. Never rejects. */
  guarded(work: () => Promise<void>): Promise<void>
}

export function createSessionView(id: string, signal: AbortSignal): SessionView {
  const store = createStore<Conversation>({
    session: undefined,
    log: EMPTY_LOG,
    older: false,
    newer: false,
    loading: true,
    loaded: false,
    connection: 'live',
    pending: [],
    error: undefined,
  })
  const change = (part: Partial<Conversation>): void => store.set({ ...store.get(), ...part })
  return {
    id,
    store,
    signal,
    change,
    changeLog: (make) => change({ log: make(store.get().log) }),
    async guarded(work) {
      try {
        await work()
      } catch (error) {
        if (!signal.aborted) change({ error })
      }
    },
  }
}
