import type { FollowedEvent } from '../../functions/client/follow.ts'
import { client } from '../shell/api.ts'
import { seen, untilSeen } from '../shell/page-visibility.ts'

interface Follow {
  readonly signal: AbortSignal
  readonly onLost: () => void
}

/** Opens the events of a run. The events end when `signal` aborts. `onLost` is called before each reconnect. */
export type Open = (follow: Follow) => AsyncIterable<FollowedEvent>

interface FollowWhileSeen extends Follow {
  /** Called after the connection was closed because the page is hidden. */
  readonly onLeft: () => void
  /** Called with the first event after the page became visible again. */
  readonly onBack: () => void
}

/**
 * Yields the events of a run, each stored event only once. A hidden page closes the connection once it knows the run's
 * id, because over HTTP/1.1 all tabs of a browser share six connections. When the page becomes visible, it reconnects
 * and continues after the last event.
 */
export async function* whileSeen(
  session: string,
  open: Open,
  { signal, onLost, onLeft, onBack }: FollowWhileSeen,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const known = new Set<string>()
  let next = open
  let run: string | undefined
  let after: string | undefined
  let isAway = false
  while (!signal.aborted) {
    const connection = new AbortController()
    const end = (): void => connection.abort()
    const leave = (): void => {
      if (run !== undefined && !seen.get()) end()
    }
    signal.addEventListener('abort', end)
    const unsubscribe = seen.subscribe(leave)
    try {
      for await (const followed of next({ signal: connection.signal, onLost })) {
        if (isAway) onBack()
        isAway = false
        const { id, event } = followed
        run = event.run_id
        after = id ?? after
        if (id === undefined || !known.has(id)) yield followed
        if (id !== undefined) known.add(id)
        leave()
      }
    } finally {
      signal.removeEventListener('abort', end)
      unsubscribe()
    }
    if (run === undefined || !connection.signal.aborted || signal.aborted) return
    const left = run
    isAway = true
    onLeft()
    await untilSeen(signal)
    next = (follow) => client.follow(session, left, { ...follow, after })
  }
}
