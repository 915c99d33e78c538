import { createStore } from './store.ts'

/** A page that is hidden for no longer still counts as seen: somebody has only looked at another tab. */
const HIDDEN_MS = 10_000

/** Whether somebody sees the page, or did a moment ago. */
export const seen = createStore(!document.hidden)

let hiding: ReturnType<typeof setTimeout> | undefined
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding)
  if (document.hidden) hiding = setTimeout(() => seen.set(false), HIDDEN_MS)
  else seen.set(true)
})

/** Resolves once the page is seen, or `signal` aborts. */
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
