import { createStore } from '../shell/store.ts'
import type { Store } from '../shell/store.ts'

/** What an input does while a run is active. */
export type Busy = 'queue' | 'steer'

/** An input that is being written. */
export interface Draft {
  readonly text: string
  readonly files: readonly File[]
  /** The request that no response came to: as long as nothing is changed, it is sent again as the same one. */
  readonly sent?: { readonly key: string; readonly busy: Busy } | undefined
}
export const EMPTY_DRAFT: Draft = { text: '', files: [] }

const drafts = new Map<string, Store<Draft>>()

/** What is being written for a session. It stays in this tab while another session is looked at. */
export function draftOf(session: string): Store<Draft> {
  const draft = drafts.get(session) ?? createStore(EMPTY_DRAFT)
  drafts.set(session, draft)
  return draft
}

const results = new Map<string, Store<string>>()

/** What is being written as the result of a call that waits, by the call's message. It stays as a draft does. */
export function resultOf(message: string): Store<string> {
  const result = results.get(message) ?? createStore('')
  results.set(message, result)
  return result
}

/** Gives back what was not sent; what has been written since stands below it. */
export function restore(session: string, given: Draft): void {
  const { text, files } = given
  const draft = draftOf(session)
  const since = draft.get()
  if (isEmpty(since)) return draft.set(given)
  const texts = [text, since.text].filter((one) => one.trim() !== '')
  draft.set({ text: texts.join('\n\n'), files: [...files, ...since.files] })
}

/** Inputs that begin sessions which have just been made, until these are opened. */
const firsts = new Map<string, Draft>()

export const keepFirst = (session: string, draft: Draft): void => void firsts.set(session, draft)

/** The input that is to begin the session; given once. */
export function takeFirst(session: string): Draft | undefined {
  const first = firsts.get(session)
  firsts.delete(session)
  return first
}

export const isEmpty = ({ text, files }: Draft): boolean => text.trim() === '' && files.length === 0
