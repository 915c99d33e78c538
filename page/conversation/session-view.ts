import type { Session } from '../../functions/client/api-types.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'
import { EMPTY_LOG } from '../log/log.ts'
import type { Log } from '../log/log.ts'
import type { Pending } from './sending.ts'

export interface Conversation {
  readonly session: Session | undefined
  readonly log: Log
  /** `older` and `newer`: whether the log has messages before or after the loaded part. */
  readonly older: boolean
  readonly newer: boolean
  readonly loading: boolean
  /** Whether a part of the log was loaded. While this is false, the log's content is unknown. */
  readonly loaded: boolean
  /**
   * State of the connection to the run's events. `lost`: reconnecting. `left`: the page was hidden, and later events
   * are not shown yet.
   */
  readonly connection: 'live' | 'lost' | 'left'
  /** Inputs that were sent and are not in the log yet. */
  readonly pending: readonly Pending[]
  readonly error: unknown
}

/** The state of an open session, and functions to change it. */
export interface SessionView {
  readonly id: string
  readonly store: Store<Conversation>
  /** Aborts when the session is closed. */
  readonly signal: AbortSignal
  change(part: Partial<Conversation>): void
  changeLog(make: (log: Log) => Log): void
  /** Runs the work. If it fails, shows its error. Never rejects. */
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
