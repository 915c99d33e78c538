import type { FollowedEvent } from '../../functions/client/follow.ts'
import { ApiProblem } from '../../functions/client/problem.ts'
import { client } from '../shell/api.ts'
import { isActive, withEvent, withEventElsewhere } from '../log/log.ts'
import { isAtEnd, lastOf, readEnd } from '../log/log-end.ts'
import { stillPending, withQueued } from './sending.ts'
import type { Conversation, SessionView } from './session-view.ts'
import { whileSeen } from './pause-when-hidden.ts'
import type { Open } from './pause-when-hidden.ts'

/** Interval at which the page checks whether another tab or program has started a run. */
const POLL_INTERVAL_MS = 2_000
/** Interval at which deltas are shown, about 30 times a second. */
const FRAME_MS = 33

const tabs = new BroadcastChannel('tooltrail')

export interface Following {
  /** Whether the page is showing the events of a run. */
  isOn(): boolean
  /**
   * Shows events as they arrive, until the run ends or pauses. Then reads the new end of the log. Ends the previous
   * event stream.
   */
  consume(open: Open): Promise<void>
  followRun(run: string): Promise<void>
  /** Reads the session and the new end of the log, and follows the oldest active run. */
  refresh(): Promise<void>
  close(): void
}

/**
 * Follows a session, including changes by other tabs and programs. `load`: loads the part of the log that is shown
 * first.
 */
export function createFollowing(view: SessionView, load: () => Promise<void>): Following {
  const { id, store, signal, change, changeLog, guarded } = view
  let current: AbortController | undefined

  async function consume(open: Open): Promise<void> {
    current?.abort()
    const own = (current = new AbortController())
    signal.addEventListener('abort', () => own.abort(), { once: true })
    const known = lastOf(store.get().log)
    try {
      // A failure is ignored, because the end of the log is read again when the run ends.
      await showEvents(view, open, own.signal, () => void readEnd(view, known).catch(() => undefined))
    } finally {
      if (!own.signal.aborted) current = undefined
    }
    if (!own.signal.aborted) await refresh()
  }

  const followRun = (run: string): Promise<void> => guarded(() => consume((follow) => client.follow(id, run, follow)))

  async function refresh(): Promise<void> {
    const session = await client.readSession(id, { signal })
    change({ session })
    await readEnd(view)
    const runs = await client.listRuns(id, { limit: 20 }, { signal })
    change({ pending: withQueued(store.get().pending, runs.data, store.get().log) })
    const active = runs.data.findLast((run) => isActive(run)) ?? runs.data[0]
    if (active === undefined || current !== undefined) return
    changeLog((log) => ({ ...log, run: active }))
    if (isActive(active)) void followRun(active.id)
  }

  async function poll(): Promise<void> {
    if (current !== undefined || document.hidden || store.get().loading) return
    if (!store.get().loaded || store.get().session === undefined) {
      await load()
      change({ error: undefined })
      return refresh()
    }
    const session = await client.readSession(id, { signal })
    const { run } = store.get().log
    const isNews = session.updated_at !== store.get().session?.updated_at || session.run?.status !== run?.status
    if (isNews || session.run?.id !== run?.id) await refresh()
  }
  const stopPolling = pollOften(id, () => void poll().catch(missed))
  /** Handles a failed poll. After errors other than 404, nothing is done, because the next poll is a retry. */
  function missed(error: unknown): void {
    if (!(error instanceof ApiProblem) || error.status !== 404) return
    change({ error, session: undefined })
    close()
  }
  const close = (): void => {
    current?.abort()
    stopPolling()
  }
  return { isOn: () => current !== undefined, consume, followRun, refresh, close }
}

/**
 * Shows events until they end. If the stream fails, events that arrived before the failure are still shown, unless the
 * stream was aborted. When the run starts, `onStarted` must read the changes that have no event: earlier changes by
 * other clients, and calls that the start cancelled.
 */
async function showEvents(
  { id, store, change }: SessionView,
  open: Open,
  signal: AbortSignal,
  onStarted: () => void,
): Promise<void> {
  let waiting: FollowedEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const events = waiting
    waiting = []
    const after = isAtEnd(store.get()) ? withEvent : withEventElsewhere
    const log = events.reduce((before, { event }) => after(before, event), store.get().log)
    change({ log, connection: 'live', pending: stillPending(store.get().pending, log) })
    if (events.some(({ event }) => event.type === 'run.started')) onStarted()
  }
  const flushSoon = (): void => void (timer ??= setTimeout(flush, FRAME_MS))
  const broken = (connection: Conversation['connection']) => (): void => {
    if (signal.aborted) return
    flush()
    change({ connection })
  }
  const follow = { signal, onLost: broken('lost'), onLeft: broken('left'), onBack: flushSoon }
  try {
    for await (const event of whileSeen(id, open, follow)) {
      waiting.push(event)
      flushSoon()
    }
  } finally {
    clearTimeout(timer)
    if (!signal.aborted) flush()
  }
}

/**
 * Calls `poll` every two seconds, when another tab has changed the session, and when this tab becomes visible. Returns
 * a function that stops polling.
 */
function pollOften(id: string, poll: () => void): () => void {
  const pollTimer = setInterval(poll, POLL_INTERVAL_MS)
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (data === id) poll()
  }
  tabs.addEventListener('message', hear)
  document.addEventListener('visibilitychange', poll)
  return () => {
    clearInterval(pollTimer)
    tabs.removeEventListener('message', hear)
    document.removeEventListener('visibilitychange', poll)
  }
}

/** Notifies other tabs that the session has changed. */
export const notifyTabs = (id: string): void => tabs.postMessage(id)

/** Passes on events, and notifies other tabs at the first one. */
export async function* announcing(events: AsyncIterable<FollowedEvent>, id: string): AsyncGenerator<FollowedEvent> {
  let notified = false
  for await (const event of events) {
    if (!notified) notifyTabs(id)
    notified = true
    yield event
  }
  notifyTabs(id)
}
