import type { FollowedEvent } from '../../functions/client/follow.ts'
import { client } from '../shell/api.ts'
import { isActive, withEvent, withMessages } from './log.ts'
import type { Log } from './log.ts'
import { stillPending } from './sending.ts'
import type { SessionView } from './session-view.ts'

/** How often somebody looks whether another tab or program has started a run. */
const LOOK_MS = 2_000
/** Deltas are shown together: a frame of 30 a second. */
const FRAME_MS = 33

const tabs = new BroadcastChannel('tooltrail')

/** Opens the events of a run. They end when `signal` aborts; `onLost` hears that the connection is tried again. */
type Open = (follow: { signal: AbortSignal; onLost: () => void }) => AsyncIterable<FollowedEvent>

export interface Following {
  /** Whether the events of a run are being shown. */
  isOn(): boolean
  /** Shows events as they come, until the run ends or pauses; then looks what comes next. Ends the events that were shown before. */
  consume(open: Open): Promise<void>
  followRun(run: string): Promise<void>
  /** Reads the session and what is new at the end of the log, and follows the oldest run that is active. */
  refresh(): Promise<void>
  close(): void
}

/** Follows what happens in a session, here and elsewhere. */
export function createFollowing(view: SessionView): Following {
  const { id, store, signal, change, changeLog, guarded } = view
  let current: AbortController | undefined

  async function consume(open: Open): Promise<void> {
    current?.abort()
    const own = (current = new AbortController())
    signal.addEventListener('abort', () => own.abort(), { once: true })
    try {
      await showEvents(view, open, own.signal, () => void readEnd().catch(() => undefined)) // Read again when the run ends.
    } finally {
      if (!own.signal.aborted) current = undefined
    }
    if (!own.signal.aborted) await refresh()
  }

  const followRun = (run: string): Promise<void> => guarded(() => consume((follow) => client.follow(id, run, follow)))

  async function refresh(): Promise<void> {
    const session = await client.readSession(id, { signal })
    change({ session })
    await readEnd()
    const runs = await client.listRuns(id, { limit: 20 }, { signal })
    const active = runs.data.findLast((run) => isActive(run)) ?? runs.data[0]
    if (active === undefined || current !== undefined) return
    changeLog((log) => ({ ...log, run: active }))
    if (isActive(active)) void followRun(active.id)
  }

  async function readEnd(): Promise<void> {
    if (store.get().newer) return
    const { data } = await client.listMessages(id, { order: 'desc', limit: 20 }, { signal })
    changeLog((log) => withMessages(log, data))
    change({ pending: stillPending(store.get().pending, store.get().log) })
  }

  async function look(): Promise<void> {
    if (current !== undefined || document.hidden || store.get().loading) return
    const session = await client.readSession(id, { signal })
    const { run } = store.get().log
    const isNews = session.updated_at !== store.get().session?.updated_at || session.run?.status !== run?.status
    if (isNews || session.run?.id !== run?.id) await refresh()
  }
  const stopLooking = lookOften(id, () => void look().catch(() => undefined)) // Tried again at the next look.
  const close = (): void => {
    current?.abort()
    stopLooking()
  }
  return { isOn: () => current !== undefined, consume, followRun, refresh, close }
}

/**
 * Shows the events until they end. What came is shown also when they break off, unless somebody has ended them. `onCancelled`: the
 * run has started in place of one whose calls waited, and no event tells that they were cancelled.
 */
async function showEvents(
  { store, change }: SessionView,
  open: Open,
  signal: AbortSignal,
  onCancelled: () => void,
): Promise<void> {
  let waiting: FollowedEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    timer = undefined
    const events = waiting
    waiting = []
    const log = events.reduce((before, { event }) => withEvent(before, event), store.get().log)
    change({ log, lost: false, pending: stillPending(store.get().pending, log) })
    if (events.some(({ event }) => event.type === 'run.started') && hasOtherWaiting(log)) onCancelled()
  }
  try {
    for await (const event of open({ signal, onLost: () => change({ lost: true }) })) {
      waiting.push(event)
      timer ??= setTimeout(flush, FRAME_MS)
    }
  } finally {
    clearTimeout(timer)
    if (!signal.aborted) flush()
  }
}

const hasOtherWaiting = ({ run, messages }: Log): boolean =>
  messages.some((message) => message.status === 'waiting' && message.run_id !== run?.id)

/** Looks every other second, when another tab has changed the session, and when this one is seen again. Returns how to stop. */
function lookOften(id: string, look: () => void): () => void {
  const looking = setInterval(look, LOOK_MS)
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (data === id) look()
  }
  tabs.addEventListener('message', hear)
  document.addEventListener('visibilitychange', look)
  return () => {
    clearInterval(looking)
    tabs.removeEventListener('message', hear)
    document.removeEventListener('visibilitychange', look)
  }
}

/** Tells the other tabs that the session has changed. */
export const tellTabs = (id: string): void => tabs.postMessage(id)

/** Tells the other tabs as soon as something is stored. */
export async function* announcing(events: AsyncIterable<FollowedEvent>, id: string): AsyncGenerator<FollowedEvent> {
  let told = false
  for await (const event of events) {
    if (!told) tellTabs(id)
    told = true
    yield event
  }
  tellTabs(id)
}
