import type { FollowOptions } from '../../functions/client/follow.ts'
import { ApiProblem } from '../../functions/client/problem.ts'
import { client } from '../shell/api.ts'
import { contentOf, namingFiles } from './attachments.ts'
import type { Content } from './attachments.ts'
import { restore } from './drafts.ts'
import type { Busy, Draft } from './drafts.ts'
import { announcing, notifyTabs } from './following.ts'
import type { Following } from './following.ts'
import type { LogPages } from '../log/log-pages.ts'
import { isActive } from '../log/log.ts'
import { pendingOf, sending, withAccepted, withPending } from './sending.ts'
import type { Pending } from './sending.ts'
import type { SessionView } from './session-view.ts'

interface Parts {
  readonly view: SessionView
  readonly following: Following
  readonly load: LogPages['load']
  /** Resolves when the view of the session was loaded for the first time. */
  readonly opening: Promise<void>
}

/** Sends an input. If the server rejects the input, it becomes the session's draft again. Never rejects. */
export async function sendInput(parts: Parts, draft: Draft, busy: Busy): Promise<void> {
  const { id, store, signal, change } = parts.view
  const own = pendingOf(draft)
  const sent = draft.sent ?? { key: crypto.randomUUID(), busy }
  change({ error: undefined, pending: [...store.get().pending, own] })
  let content: Content = ''
  try {
    content = await contentOf(draft)
    await parts.opening
    if (!store.get().loaded || store.get().newer) await parts.load(undefined)
    const after = store.get().log.messages.at(-1)?.id ?? ''
    change({ pending: withPending(store.get().pending, own.key, { after }) })
    await post(parts, own, content, { ...sent, isAgain: draft.sent !== undefined })
  } catch (error) {
    const { pending } = store.get()
    if (!signal.aborted) change({ error: namingFiles(error, content) })
    if (!pending.some(({ key, accepted }) => key === own.key && !accepted)) return
    change({ pending: pending.filter(({ key }) => key !== own.key) })
    const isRefused = error instanceof ApiProblem && error.status < 500
    restore(id, { ...draft, sent: isRefused ? undefined : sent })
  }
}

interface Request {
  readonly key: string
  readonly busy: Busy
  /** Whether the request repeats an earlier attempt, which may have succeeded. */
  readonly isAgain: boolean
}

/** Queues an input, or steers the active run with it. If no run is active, follows the run that the input starts. */
async function post({ view, following }: Parts, own: Pending, content: Content, request: Request) {
  const { id, store, change, guarded } = view
  const { log, pending } = store.get()
  const accept = (): void => change({ pending: withPending(store.get().pending, own.key, { accepted: true }) })
  if (following.isOn() || isActive(log.run) || request.isAgain) {
    const run = await client.sendMessage(id, { content, on_busy: request.busy }, { key: request.key })
    const isInLog = request.isAgain && run.status !== 'queued'
    if (isInLog) change({ pending: store.get().pending.filter(({ key }) => key !== own.key) })
    else change({ pending: withAccepted(store.get().pending, own.key, run) })
    if (!following.isOn()) await guarded(following.refresh)
    return
  }
  // No run is active, so every accepted input is in the log already.
  change({ pending: pending.filter(({ accepted }) => !accepted) })
  const begun = (): void => {
    accept()
    // The first input sets the session's title, so the session is read again.
    if (log.messages.length === 0) void guarded(async () => change({ session: await client.readSession(id) }))
  }
  const open = (follow: FollowOptions) => client.streamMessage(id, { content }, follow)
  notifyTabs(id)
  await following.consume((follow) => announcing(sending(open, follow, begun), id))
}
