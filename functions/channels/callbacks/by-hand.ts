import type { Delivery } from '../../domain/delivery.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Callbacks } from '../../ports/callbacks.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Outbox } from '../../ports/outbox.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import { asJson, CALLBACK, callbackDelivery, stateOf, targetOf } from './state.ts'

/** Maximum attempts to make a change. An attempt fails if another writer changes the row at the same time. */
const ATTEMPTS = 5

interface Dependencies {
  readonly outbox: Outbox
  readonly queue: Pick<RunQueue, 'send'>
  readonly clock: Clock
  readonly logger: Logger
  /** The callback names in the settings. */
  readonly names: ReadonlySet<string>
}

/** Lists and retries the callbacks of an outbox. */
export function createCallbacks({ outbox, queue, clock, logger, names }: Dependencies): Callbacks {
  return {
    has: (name) => names.has(name),
    delivery: (name) => callbackDelivery(name),
    list: (filter) => outbox.list({ ...filter, kind: CALLBACK }),
    find: (tenant, id) => outbox.find(tenant, CALLBACK, id),
    async redeliver(first) {
      let seen: Delivery | undefined = first
      for (let at = 0; at < ATTEMPTS && seen !== undefined; at++) {
        const state = asJson({ ...stateOf(seen), tries: 0 })
        const fresh = { failures: 0, begun: null }
        const again = { ...fresh, status: 'pending', state, owner: null, due: clock.now(), hinted: true } as const
        const changed = await outbox.change(seen, again)
        if (changed !== undefined) {
          await queue.send({ tenant: seen.tenant, session: seen.session }).catch((error: unknown) => {
            logger.error('could not send a hint', error, { tenant: first.tenant, session: first.session })
          })
          return changed
        }
        seen = await outbox.read(first)
      }
      if (seen === undefined) throw new TooltrailError('callback_not_found', `there is no callback ${first.id}`)
      throw new TooltrailError('storage_failed', `callback ${first.id} was changed by other writers each time: retry`, {
        retryable: true,
      })
    },
    shown(delivery) {
      const { body, attempts = [] } = stateOf(delivery)
      const isWaiting = delivery.status === 'pending' && body !== undefined && delivery.due !== undefined
      return { name: targetOf(delivery).name, attempts, ...(isWaiting ? { next: delivery.due } : {}) }
    },
  }
}
