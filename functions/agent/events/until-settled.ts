import { isTerminal } from '../../domain/events.ts'
import { isEnded } from '../../domain/runs/run.ts'
import { isBlocked } from '../../domain/session.ts'
import type { SessionKey } from '../../domain/session.ts'
import { currentRun } from './follow-run.ts'
import type { FollowDependencies } from './follow-run.ts'
import { pollHeader } from './header-polling.ts'

/** Longest wait for an event. The wait ends earlier if a poll finds a change or this process emits an event. */
const NEXT_EVENT_TIMEOUT_MS = 60_000

/**
 * Resolves when the run has ended, when it waits for its caller, or when `signal` aborts. Any process may execute the run. While
 * the run is in progress, reads one header per second.
 */
export async function untilSettled(
  { reader, lease, bus }: FollowDependencies,
  key: SessionKey,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  const subscription = bus.subscribe(key)
  const poll = pollHeader(lease, key, { of: 'ends', wake: subscription.wake })
  signal.addEventListener('abort', subscription.close)
  try {
    while (!signal.aborted) {
      const state = await poll.state()
      const run = await currentRun(reader, key, runId)
      if (isEnded(run.status)) return
      const header = run.status === 'paused' ? await lease.readHeader(key) : undefined
      if (header !== undefined && isBlocked(header)) return
      for (let isOver = false; !isOver && !signal.aborted && poll.since(state) !== 'change';) {
        const { events, gap } = await subscription.next(NEXT_EVENT_TIMEOUT_MS)
        isOver = gap || events.some((event) => event.runId === run.id && isTerminal(event))
      }
    }
  } finally {
    signal.removeEventListener('abort', subscription.close)
    subscription.close()
    poll.close()
  }
}
