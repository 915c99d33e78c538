import type { Clock } from '../../ports/clock.ts'
import type { Hint, RunQueue } from '../../ports/run-queue.ts'

/** Delay before a hint is delivered again after its handler rejected: doubled each time, from 250 ms to 30 s. */
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 30_000

/** A session's hint that was sent and not handled yet. */
interface Pending {
  readonly hint: Hint
  state: 'queued' | 'handling' | 'resting'
  /**
   * Whether another hint arrived while the handler ran. The handler then runs once more, because it may have read the
   * session before that hint was sent.
   */
  again: boolean
  failures: number
}

/**
 * Creates a queue of hints within this process. Hints of one session are coalesced and never overlap; hints of
 * different sessions are handled in parallel. If a handler rejects, its hint is delivered again after a growing delay.
 * Hints that are sent before `consume` wait for it. If `stop` leaves hints unhandled, the sweeper finds their sessions.
 */
export function createMemoryRunQueue({ clock }: { readonly clock: Clock }): RunQueue {
  const pending = new Map<string, Pending>()
  let consumer: Consumer | undefined

  return {
    async send(hint) {
      const id = `${hint.tenant}\0${hint.session}`
      const known = pending.get(id)
      if (known?.state === 'handling') {
        known.again = true
        consumer?.notice?.(hint)
      }
      if (known !== undefined && known.state !== 'resting') return
      const entry: Pending = known ?? { hint, state: 'queued', again: false, failures: 0 }
      entry.state = 'queued'
      pending.set(id, entry)
      consumer?.work(id, entry)
    },
    consume(handle, notice) {
      if (consumer !== undefined) throw new Error('the run queue has a consumer already')
      const started = (consumer = createConsumer({ clock, pending, handle, notice }))
      for (const [id, entry] of pending) started.work(id, entry)
      return {
        async stop() {
          if (consumer === started) consumer = undefined
          await started.stop()
        },
      }
    },
  }
}

interface Consumer {
  readonly notice: ((hint: Hint) => void) | undefined
  work(id: string, entry: Pending): void
  stop(): Promise<void>
}

interface ConsumerParts {
  readonly clock: Clock
  readonly pending: Map<string, Pending>
  handle(hint: Hint): Promise<void>
  readonly notice: ((hint: Hint) => void) | undefined
}

function createConsumer({ clock, pending, handle, notice }: ConsumerParts): Consumer {
  const stopping = new AbortController()
  const busy = new Set<Promise<void>>()

  function track(task: Promise<void>): void {
    busy.add(task)
    void task.finally(() => busy.delete(task))
  }

  async function run(id: string, entry: Pending): Promise<void> {
    do {
      entry.state = 'handling'
      entry.again = false
      try {
        await handle(entry.hint)
        entry.failures = 0
      } catch {
        // The handler has logged the reason. Here, a rejection only means that the hint is retried.
        entry.failures += 1
      }
    } while (entry.again && entry.failures === 0 && !stopping.signal.aborted)
    if (entry.failures > 0 && !stopping.signal.aborted) track(rest(id, entry))
    else pending.delete(id)
  }

  async function rest(id: string, entry: Pending): Promise<void> {
    entry.state = 'resting'
    const failures = entry.failures
    try {
      await clock.sleep(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS), stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) throw error
      return
    }
    // A later hint may have ended the delay and started the handler already.
    if (entry.state === 'resting' && entry.failures === failures) work(id, entry)
  }

  function work(id: string, entry: Pending): void {
    track(run(id, entry))
  }

  return {
    notice,
    work,
    async stop() {
      stopping.abort()
      while (busy.size > 0) await Promise.allSettled(busy)
    },
  }
}
