import { createStore } from './store.ts'

/**
 * Time for which a hidden page still counts as visible. A person may look at another tab for a moment only.
 */
const HIDDEN_MS = 10_000

/** Whether the page is visible, or was visible until recently. */
export const seen = createStore(!document.hidden)

let hiding: ReturnType<typeof setTimeout> | undefined
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding)
  if (document.hidden) hiding = setTimeout(() => seen.set(false), HIDDEN_MS)
  else seen.set(true)
})

/** Resolves when the page is visible, or when `signal` aborts. */
export function untilSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const update = (): void => {
      if (!seen.get() && !signal.aborted) return
      unsubscribe()
      signal.removeEventListener('abort', update)
      resolve()
    }
    const unsubscribe = seen.subscribe(update)
    signal.addEventListener('abort', update)
    update()
  })
}
