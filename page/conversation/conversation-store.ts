import type { FollowedEvent, FollowOptions } from '../../functions/client/follow.ts'
import type { NewMessage, Run, Session, ToolResults } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'
import { contentOf, namingFiles } from './attachments.ts'
import { giveBack } from './drafts.ts'
import type { Draft } from './drafts.ts'
import { EMPTY_LOG, isActive, withEvent, withMessages } from './log.ts'
import type { Log } from './log.ts'
import { pendingOf, sending, stillPending, withPending } from './sending.ts'
import type { Pending } from './sending.ts'

const PAGE = 100
const TITLE_CHARACTERS = 80
/** How often somebody looks whether another tab or program has started a run. */
const LOOK_MS = 2_000
/** Deltas are shown together: a frame of 30 a second. */
const FRAME_MS = 33

export interface Conversation {
  readonly session: Session | undefined
  readonly log: Log
  /** Whether there is more of the log before and after the part that is loaded. */
  readonly older: boolean
  readonly newer: boolean
  readonly loading: boolean
  /** The connection to the run's events is lost; it is tried again. */
  readonly lost: boolean
  /** What was sent and is not in the log yet. */
  readonly pending: readonly Pending[]
  readonly error: unknown
}
export type Busy = 'queue' | 'steer'

export interface ConversationStore extends Store<Conversation> {
  /** Sends an input; one that is refused goes back to the session's draft. */
  send(draft: Draft, busy: Busy): Promise<void>
  stop(): Promise<void>
  proceed(): Promise<void>
  resolve(results: ToolResults): Promise<void>
  rename(title: string): Promise<void>
  loadOlder(): Promise<void>
  loadNewer(): Promise<void>
  /** Loads the part of the log around a message, unless it is loaded. */
  jumpTo(message: string): Promise<void>
  dismiss(): void
  close(): void
}

const tabs = new BroadcastChannel('tooltrail')

/** Opens a session: loads the end of its log, or the part around `focus`, and follows what happens in it until it is closed. */
export function openConversation(id: string, focus: string | undefined): ConversationStore {
  const store = createStore<Conversation>({
    session: undefined,
    log: EMPTY_LOG,
    older: false,
    newer: false,
    loading: true,
    lost: false,
    pending: [],
    error: undefined,
  })
  const closing = new AbortController()
  const { signal } = closing
  let following: AbortController | undefined
  let busyLoading = false

  const change = (part: Partial<Conversation>): void => store.set({ ...store.get(), ...part })
  const changeLog = (make: (log: Log) => Log): void => change({ log: make(store.get().log) })
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) change({ error })
    }
  }

  /** Shows events as they come, until the run ends or pauses; then looks what comes next. */
  async function consume(open: (follow: { signal: AbortSignal; onLost: () => void }) => AsyncIterable<FollowedEvent>) {
    following?.abort()
    const own = (following = new AbortController())
    signal.addEventListener('abort', () => own.abort(), { once: true })
    let waiting: FollowedEvent[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = (): void => {
      timer = undefined
      const events = waiting
      waiting = []
      const log = events.reduce((before, { event }) => withEvent(before, event), store.get().log)
      change({ log, lost: false, pending: stillPending(store.get().pending, log) })
    }
    try {
      for await (const event of open({ signal: own.signal, onLost: () => change({ lost: true }) })) {
        waiting.push(event)
        timer ??= setTimeout(flush, FRAME_MS)
      }
    } finally {
      clearTimeout(timer)
      if (!own.signal.aborted) {
        flush()
        following = undefined
      }
    }
    if (!own.signal.aborted) await refresh()
  }

  /** Names a session that has no title after its first words. */
  async function titled(text: string): Promise<void> {
    const title = text.split('\n')[0]?.slice(0, TITLE_CHARACTERS).trim()
    if (store.get().session?.title !== null || title === undefined || title === '') return
    change({ session: await client.changeSession(id, { title }) })
  }

  const followRun = (run: string): Promise<void> => guarded(() => consume((follow) => client.follow(id, run, follow)))

  /** Reads the session and what is new at the end of the log, and follows the oldest run that is active. */
  async function refresh(): Promise<void> {
    const session = await client.readSession(id, { signal })
    change({ session })
    if (!store.get().newer) {
      const { data } = await client.listMessages(id, { order: 'desc', limit: 20 }, { signal })
      changeLog((log) => withMessages(log, data))
      change({ pending: stillPending(store.get().pending, store.get().log) })
    }
    const runs = await client.listRuns(id, { limit: 20 }, { signal })
    const active = runs.data.findLast((run) => isActive(run)) ?? runs.data[0]
    if (active === undefined || following !== undefined) return
    changeLog((log) => ({ ...log, run: active }))
    if (isActive(active)) void followRun(active.id)
  }

  async function look(): Promise<void> {
    if (following !== undefined || document.hidden || store.get().loading) return
    const session = await client.readSession(id, { signal })
    const { run } = store.get().log
    const isNews = session.updated_at !== store.get().session?.updated_at || session.run?.status !== run?.status
    if (isNews || session.run?.id !== run?.id) await refresh()
  }

  const looking = setInterval(() => void look().catch(() => undefined), LOOK_MS) // Tried again at the next look.
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (data === id) void look().catch(() => undefined)
  }
  const wake = (): void => void look().catch(() => undefined)
  tabs.addEventListener('message', hear)
  document.addEventListener('visibilitychange', wake)

  async function load(around: string | undefined): Promise<void> {
    change({ loading: true })
    const at = around === undefined ? undefined : await pageAround(id, around, signal)
    const page = at ?? (await lastPage(id, signal))
    changeLog((log) => ({ ...withMessages({ ...log, messages: [] }, page.messages), drafts: [] }))
    change({ older: page.older, newer: page.newer, loading: false })
  }
  const opening = guarded(async () => {
    // At once: the first paint waits for the messages alone.
    await Promise.all([load(focus), client.readSession(id, { signal }).then((session) => change({ session }))])
    await refresh()
  }).finally(() => change({ loading: false }))

  /** Queues an input or steers with it where a run is active; else follows the run that begins with it. */
  async function post({ key, text }: Pending, content: NewMessage['content'], busy: Busy): Promise<void> {
    const { log, pending } = store.get()
    const accept = (): void => change({ pending: withPending(store.get().pending, key, { accepted: true }) })
    if (following !== undefined || isActive(log.run)) {
      await client.sendMessage(id, { content, on_busy: busy })
      return accept()
    }
    // What was accepted before is in the log: nothing runs.
    change({ pending: pending.filter(({ accepted }) => !accepted) })
    const begun = (): void => {
      accept()
      if (log.messages.length === 0) void guarded(() => titled(text))
    }
    const open = (follow: FollowOptions) => client.streamMessage(id, { content }, follow)
    tabs.postMessage(id)
    await consume((follow) => announcing(sending(open, follow, begun), id))
  }

  async function send(draft: Draft, busy: Busy): Promise<void> {
    const own = pendingOf(draft)
    change({ error: undefined, pending: [...store.get().pending, own] })
    let content: NewMessage['content'] = ''
    try {
      content = await contentOf(draft)
      await opening
      if (store.get().newer) await load(undefined)
      const after = store.get().log.messages.at(-1)?.id ?? ''
      change({ pending: withPending(store.get().pending, own.key, { after }) })
      await post(own, content, busy)
    } catch (error) {
      const { pending } = store.get()
      if (!signal.aborted) change({ error: namingFiles(error, content) })
      if (!pending.some(({ key, accepted }) => key === own.key && !accepted)) return
      change({ pending: pending.filter(({ key }) => key !== own.key) })
      giveBack(id, draft)
    }
  }

  async function more(read: () => Promise<void>): Promise<void> {
    if (busyLoading || store.get().loading) return
    busyLoading = true
    await guarded(read)
    busyLoading = false
  }

  return {
    ...store,
    send,
    stop: () =>
      guarded(async () => {
        const { run } = store.get().log
        if (run !== undefined) await client.cancelRun(id, run.id)
        if (following === undefined) await refresh()
      }),
    proceed: () => guarded(() => consume((follow) => announcing(client.streamContinue(id, follow), id))),
    resolve: (results) =>
      guarded(async () => {
        const { run } = store.get().log
        if (run === undefined) return
        const after: Run = await client.sendToolResults(id, run.id, results)
        changeLog((log) => ({ ...log, run: after }))
        tabs.postMessage(id)
        await (isActive(after) ? followRun(after.id) : refresh())
      }),
    rename: (title) =>
      guarded(async () => change({ session: await client.changeSession(id, { title: title === '' ? null : title }) })),
    loadOlder: () =>
      more(async () => {
        const first = store.get().log.messages[0]?.id
        if (!store.get().older || first === undefined) return
        const page = await client.listMessages(id, { before: first, order: 'desc', limit: PAGE }, { signal })
        changeLog((log) => withMessages(log, page.data))
        change({ older: page.has_more })
      }),
    loadNewer: () =>
      more(async () => {
        const last = store.get().log.messages.at(-1)?.id
        if (!store.get().newer || last === undefined) return
        const page = await client.listMessages(id, { after: last, limit: PAGE }, { signal })
        changeLog((log) => withMessages(log, page.data))
        change({ newer: page.has_more })
      }),
    async jumpTo(message) {
      if (store.get().loading || store.get().log.messages.some((known) => known.id === message)) return
      await guarded(() => load(message))
    },
    dismiss: () => change({ error: undefined }),
    close() {
      closing.abort()
      following?.abort()
      clearInterval(looking)
      tabs.removeEventListener('message', hear)
      document.removeEventListener('visibilitychange', wake)
    },
  }
}

/** Tells the other tabs as soon as something is stored. */
async function* announcing(events: AsyncIterable<FollowedEvent>, id: string): AsyncGenerator<FollowedEvent> {
  let told = false
  for await (const event of events) {
    if (!told) tabs.postMessage(id)
    told = true
    yield event
  }
  tabs.postMessage(id)
}

async function lastPage(id: string, signal: AbortSignal) {
  const page = await client.listMessages(id, { order: 'desc', limit: PAGE }, { signal })
  return { messages: page.data, older: page.has_more, newer: false }
}

async function pageAround(id: string, message: string, signal: AbortSignal) {
  const half = { limit: PAGE / 2 }
  // With `after` of the one before it, the message itself is in the second half.
  const before = await client.listMessages(id, { before: message, order: 'desc', ...half }, { signal })
  const previous = before.data[0]?.id
  const after = await client.listMessages(
    id,
    { ...(previous === undefined ? {} : { after: previous }), ...half },
    { signal },
  )
  return { messages: [...before.data, ...after.data], older: before.has_more, newer: after.has_more }
}
