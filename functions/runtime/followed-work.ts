import { createMemoryRunQueue } from '../adapters/memory/run-queue.ts'
import type { AgentService } from '../agent/service/agent-service.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Clock } from '../ports/clock.ts'
import type { RunQueue } from '../ports/run-queue.ts'

export interface FollowedWork {
  /** The given service, which also sends hints for a run's session while a caller follows the run. */
  readonly service: AgentService
  /** Calls `handle` for each followed session, at once and then repeatedly, until `stop`. */
  consume: RunQueue['consume']
}

/**
 * Creates the queue of a program that executes only runs that its callers follow. In the sessions of these runs, it
 * also resumes runs that another process left unfinished.
 */
export function createFollowedWork(service: AgentService, clock: Clock, everyMs: number): FollowedWork {
  const hints = createMemoryRunQueue({ clock })

  async function hintUntil(key: SessionKey, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await hints.send(key)
      await clock.sleep(everyMs, signal).catch(() => undefined)
    }
  }

  return {
    service: {
      ...service,
      async *follow(key, runId, options) {
        const over = new AbortController()
        void hintUntil(key, AbortSignal.any([options.signal, over.signal]))
        try {
          yield* service.follow(key, runId, options)
        } finally {
          over.abort()
        }
      },
    },
    consume: hints.consume,
  }
}
