import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'

/** Effect of an input while a run is active. */
export type Busy = 'queue' | 'steer'

/** An input that is being edited. */
export interface Draft {
  readonly text: string
  readonly files: readonly File[]
  /**
   * The last request for this draft, if no response arrived. An unchanged draft is sent again with the idempotency key
   * of that request.
   */
  readonly sent?: { readonly key: string; readonly busy: Busy } | undefined
}
export const EMPTY_DRAFT: Draft = { text: '', files: [] }

const drafts = new Map<string, Store<Draft>>()

/** Returns the draft of a session. It is kept in this tab while another session is shown. */
export function draftOf(session: string): Store<Draft> {
  const draft = drafts.get(session) ?? createStore(EMPTY_DRAFT)
  drafts.set(session, draft)
  return draft
}

const results = new Map<string, Store<string>>()

/**
 * Returns the draft of a waiting call's result. `message`: the id of the call's message. The draft is kept in this tab,
 * like the draft of an input.
 */
export function resultOf(message: string): Store<string> {
  const result = results.get(message) ?? createStore('')
  results.set(message, result)
  return result
}

/** Restores an input that was not sent. If a person has typed new text since, that text is kept below the input. */
export function restore(session: string, given: Draft): void {
  const { text, files } = given
  const draft = draftOf(session)
  const since = draft.get()
  if (isEmpty(since)) return draft.set(given)
  const texts = [text, since.text].filter((one) => one.trim() !== '')
  draft.set({ text: texts.join('\n\n'), files: [...files, ...since.files] })
}

/** First inputs of new sessions. Each is removed when its session is opened. */
const firsts = new Map<string, Draft>()

export const keepFirst = (session: string, draft: Draft): void => void firsts.set(session, draft)

/** Removes and returns the first input of a new session. */
export function takeFirst(session: string): Draft | undefined {
  const first = firsts.get(session)
  firsts.delete(session)
  return first
}

export const isEmpty = ({ text, files }: Draft): boolean => text.trim() === '' && files.length === 0
