import type { Run, ToolResults } from '../../functions/client/api-types.ts'
import { client } from '../shell/api.ts'
import type { Store } from '../shell/store.ts'
import type { Busy, Draft } from './drafts.ts'
import { announcing, createFollowing, notifyTabs } from './following.ts'
import { sendInput } from './input.ts'
import { readEnd } from '../log/log-end.ts'
import { createLogPages } from '../log/log-pages.ts'
import type { LogPages } from '../log/log-pages.ts'
import { isActive } from '../log/log.ts'
import { createSessionView } from './session-view.ts'
import type { Conversation } from './session-view.ts'

export interface ConversationStore extends Store<Conversation>, Omit<LogPages, 'load'> {
  /** Sends an input. If the server rejects the input, it becomes the session's draft again. */
  send(draft: Draft, busy: Busy): Promise<void>
  stop(): Promise<void>
  proceed(): Promise<void>
  resolve(results: ToolResults): Promise<void>
  rename(title: string): Promise<void>
  dismiss(): void
  close(): void
}

/**
 * Opens a session: loads the end of its log, or the part around `focus`, and follows its events until the session is
 * closed.
 */
export function openConversation(id: string, focus: string | undefined): ConversationStore {
  const closing = new AbortController()
  const { signal } = closing
  const view = createSessionView(id, signal)
  const { store, change, changeLog, guarded } = view
  const { load, ...pages } = createLogPages(view)
  const following = createFollowing(view, () => load(focus))
  /** Waits for `work`. If `work` has loaded the end of the log, reads the messages that arrived during the wait. */
  const reachingEnd = async (work: Promise<void>): Promise<void> => {
    const { newer } = store.get()
    await work
    if (newer && !store.get().newer) await guarded(() => readEnd(view))
  }
  const opening = guarded(async () => {
    // The log and the session are read concurrently, so that the first paint does not wait for the session.
    await Promise.all([load(focus), client.readSession(id, { signal }).then((session) => change({ session }))])
    await following.refresh()
  })

  return {
    ...store,
    ...pages,
    loadNewer: () => reachingEnd(pages.loadNewer()),
    jumpTo: (message) => reachingEnd(pages.jumpTo(message)),
    send: (draft, busy) => sendInput({ view, following, load, opening }, draft, busy),
    stop: () =>
      guarded(async () => {
        const { run } = store.get().log
        if (run !== undefined) await client.cancelRun(id, run.id)
        if (!following.isOn()) await following.refresh()
      }),
    proceed: () => guarded(() => following.consume((follow) => announcing(client.streamContinue(id, follow), id))),
    resolve: (results) =>
      guarded(async () => {
        const { run } = store.get().log
        if (run === undefined) return
        const after: Run = await client.sendToolResults(id, run.id, results)
        changeLog((log) => ({ ...log, run: after }))
        notifyTabs(id)
        await (isActive(after) ? following.followRun(after.id) : following.refresh())
      }),
    rename: (title) =>
      guarded(async () => change({ session: await client.changeSession(id, { title: title === '' ? null : title }) })),
    dismiss: () => change({ error: undefined }),
    close() {
      closing.abort()
      following.close()
    },
  }
}
