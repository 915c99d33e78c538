import { ApiProblem } from '../../functions/client/problem.ts'
import { client } from '../shell/api.ts'
import { withMessages } from './log.ts'
import type { SessionView } from '../conversation/session-view.ts'

const PAGE = 100
/** Matches a message id; the fragment of an address may be any text. */
const ID = /^[0-9A-Z]{26}$/

const NOT_HERE = { key: 'not-here', text: 'The message of this address is not in this session. This is its end.' }

export interface LogPages {
  /** Loads the end of the log, or the part around a message, and replaces the loaded part. */
  load(around: string | undefined): Promise<void>
  loadOlder(): Promise<void>
  loadNewer(): Promise<void>
  /** Loads the part of the log around a message, unless it is already loaded. */
  jumpTo(message: string): Promise<void>
}

/** Loads a session's log in pages into its view. */
export function createLogPages({ id, store, signal, change, changeLog, guarded }: SessionView): LogPages {
  let busy = false

  async function load(around: string | undefined): Promise<void> {
    change({ loading: true })
    try {
      const message = around !== undefined && ID.test(around) ? around : undefined
      const at = message === undefined ? undefined : await pageAround(id, message, signal)
      const page = at ?? (await lastPage(id, signal))
      const notices = message === undefined || at !== undefined ? [] : [NOT_HERE]
      changeLog((log) => ({ ...withMessages({ ...log, messages: [], notices }, page.messages), drafts: [] }))
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

/** Reads the part of the log around a message; undefined if the session has no such message. */
async function pageAround(id: string, message: string, signal: AbortSignal) {
  try {
    const { data, previous, next } = await client.listMessages(id, { around: message, limit: PAGE }, { signal })
    return { messages: data, older: previous !== null, newer: next !== null }
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'message_not_found') return undefined
    throw error
  }
}
