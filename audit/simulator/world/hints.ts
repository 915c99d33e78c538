import type { Hint, RunQueue } from '../../../functions/ports/run-queue.ts'
import type { Process } from './timeline.ts'
import type { Harness } from '../harness.ts'

const AGAIN_MS = 5_000
const MAX_TRIES = 4

/**
 * A queue that all processes share, like SQS. A hint is delivered to one consumer. If the consumer fails, the hint is
 * delivered again.
 */
export interface Hints {
  queueOf(process: Process): RunQueue
  /** Sends a hint that is delivered after `milliseconds` or later. */
  later(hint: Hint, milliseconds: number): Promise<void>
}

export function createHints(harness: Harness): Hints {
  const consumers = new Map<Process, (hint: Hint) => Promise<void>>()

  function deliver(hint: Hint, after: number, tries: number): void {
    if (tries > MAX_TRIES) return
    harness.timeline.after(after, undefined, () => {
      const able = [...consumers.keys()].filter((process) => process.state !== 'dead')
      if (able.length === 0) return deliver(hint, AGAIN_MS, tries + 1)
      const process = harness.dice.pick('hints', able)
      const handle = consumers.get(process)
      const again = harness.timeline.after(AGAIN_MS, undefined, () => {
        if (process.state === 'dead') deliver(hint, AGAIN_MS, tries + 1)
      })
      harness.timeline.after(0, process, () => {
        handle?.(hint).then(
          () => void (again.cancelled = true),
          () => deliver(hint, AGAIN_MS, tries + 1),
        )
      })
    })
  }

  return {
    later: async (hint, milliseconds) => deliver(hint, milliseconds, 0),
    queueOf: (process) => ({
      async send(hint) {
        const fault = harness.takeFault('hint')
        if (fault !== undefined) {
          harness.note(`the hint for ${hint.session} is ${fault.how}`)
          harness.hintsLost.set(hint.session, harness.elapsed())
        }
        const wait = 5 + 50 * harness.dice.next('hints')
        if (fault?.how === 'lost') return
        deliver(hint, fault?.how === 'late' ? fault.milliseconds : wait, 0)
        if (fault?.how === 'doubled') deliver(hint, 2 * wait, 0)
      },
      consume(handle) {
        consumers.set(process, handle)
        return { stop: async () => void consumers.delete(process) }
      },
    }),
  }
}
