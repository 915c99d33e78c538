import { client } from '../shell/api.ts'
import { withMessages } from './log.ts'
import type { SessionView } from './session-view.ts'

const PAGE = 100
/** Of messages; the end of an address may be anything. */
const ID = /^[0-9A-Z]{26}$/

export interface LogPages {
  /** Loads the end of the log, or the part around a message, in place of what was loaded. */
  load(around: string | undefined): Promise<void>
  loadOlder(): Promise<void>
  loadNewer(): Promise<void>
  /** Loads the part of the log around a message, unless it is loaded. */
  jumpTo(message: string): Promise<void>
}

/** Loads a session's log in pages, into what is shown of it. */
export function createLogPages({ id, store, signal, change, changeLog, guarded }: SessionView): LogPages {
  let busy = false

  async function load(around: string | undefined): Promise<void> {
    change({ loading: true })
    try {
      const at = around === undefined || !ID.test(around) ? undefined : await pageAround(id, around, signal)
      const page = at ?? (await lastPage(id, signal))
      changeLog((log) => ({ ...withMessages({ ...log, messages: [] }, page.messages), drafts: [] }))
      change({ older: page.older, newer: page.newer, loaded: true })
    } finally {
      change({ loading: false })
    }
  }

  async function more(read: () => Promise<void>): Promise<void> {
    if (busy || store.get().loading) return
    busy = true
    await guarded(read)
    busy = false
  }

  return {
    load,
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
      if (!ID.test(message) || store.get().loading || store.get().log.messages.some((known) => known.id === message))
        return
      await guarded(() => load(message))
    },
  }
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
