import { client } from '../shell/api.ts'
import { withEnd } from './log.ts'
import type { Log } from './log.ts'
import { stillPending } from '../conversation/sending.ts'
import type { Conversation, SessionView } from '../conversation/session-view.ts'

/**
 * Approximate number of new messages at which the view drops the earlier messages and shows only the end of the log.
 */
const MAX_NEW_MESSAGES = 500

export const lastOf = ({ messages }: Log): string => messages.at(-1)?.id ?? ''

/** Whether the end of the log is loaded. */
export const isAtEnd = ({ loaded, newer }: Conversation): boolean => loaded && !newer

/**
 * Reads the new end of the log, back to the message `known`. Does nothing if the loaded part does not reach the end.
 */
export async function readEnd(view: SessionView, known = lastOf(view.store.get().log)): Promise<void> {
  const { id, store, signal, change, changeLog } = view
  if (!isAtEnd(store.get())) return
  let page = await client.listMessages(id, { order: 'desc', limit: 20 }, { signal })
  const read = [...page.data]
  const isMet = (): boolean => read.some((message) => message.id <= known)
  while (page.has_more && known !== '' && !isMet() && read.length < MAX_NEW_MESSAGES) {
    page = await client.listMessages(id, { order: 'desc', limit: 100, before: read.at(-1)?.id }, { signal })
    read.push(...page.data)
  }
  if (!isAtEnd(store.get())) return // Another part of the log was loaded during this read.
  const isWhole = !page.has_more || isMet()
  changeLog((log) => withEnd(log, read, known, isWhole))
  if (!isWhole) change({ older: true })
  change({ pending: stillPending(store.get().pending, store.get().log) })
}
