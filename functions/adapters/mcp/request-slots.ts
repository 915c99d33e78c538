import { createTenantLine } from '../../domain/fair-queue.ts'
import { raceAbort } from '../../domain/time/time-limit.ts'

interface Limits {
  readonly maxOpen: number
  readonly maxWaiting: number
}

/** Limits the open requests to one server. */
export interface RequestSlots {
  /**
   * Calls `send` when a slot is free; slots are given to the tenants in turn. Rejects with the signal's reason, or at
   * once if too many requests wait.
   */
  send<Result>(tenant: string, signal: AbortSignal | undefined, send: () => Promise<Result>): Promise<Result>
}

interface Waiting {
  readonly begin: () => void
  state: 'waiting' | 'begun' | 'left'
}

export function createRequestSlots(host: string, { maxOpen, maxWaiting }: Limits): RequestSlots {
  const line = createTenantLine<Waiting>()
  let open = 0
  let waiting = 0

  async function enter(tenant: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (open < maxOpen) {
      open++
      return
    }
    if (waiting >= maxWaiting)
      throw new Error(`${host} has ${open} requests open, and ${waiting} wait: try again later`)
    const { promise, resolve } = Promise.withResolvers<void>()
    const one: Waiting = { begin: resolve, state: 'waiting' }
    line.add(tenant, one)
    waiting++
    try {
      await (signal === undefined ? promise : raceAbort(promise, signal))
    } catch (error) {
      if (one.state === 'begun') leave()
      else one.state = 'left'
      throw error
    } finally {
      waiting--
    }
  }

  /** Gives the slot to the next waiting request. If no request waits, frees the slot. */
  function leave(): void {
    for (let next = line.next(); next !== undefined; next = line.next()) {
      if (next.state === 'left') continue
      next.state = 'begun'
      next.begin()
      return
    }
    open--
  }

  return {
    async send(tenant, signal, send) {
      await enter(tenant, signal)
      try {
        return await send()
      } finally {
        leave()
      }
    },
  }
}
