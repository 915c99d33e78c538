import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'

/** Documents that are scored before yielding to the event loop. For any content, this takes about 30 ms. */
const AT_ONCE = 4

const waiting = createTenantLine<() => void>()
let isGiving = false

/**
 * Waits until this search may continue. In each tick of the event loop, only one search continues, even if many wait.
 * Tenants alternate. So a search waits for its own tenant's searches, and for one search of each other tenant.
 */
export function waitForSearchSlot(tenant: string): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(tenant, resolve)
    if (!isGiving) void runBatches()
  })
}

async function runBatches(): Promise<void> {
  isGiving = true
  await yieldToEventLoop()
  for (let go = waiting.next(); go !== undefined; go = waiting.next()) {
    go()
    await yieldToEventLoop()
  }
  isGiving = false
}

/** Maps the items in small batches, and waits for this tenant's slot before each batch. */
export async function mapInBatches<One, Made>(
  tenant: string,
  all: readonly One[],
  make: (one: One) => Made,
): Promise<Made[]> {
  const made: Made[] = []
  for (const one of all) {
    if (made.length % AT_ONCE === 0) await waitForSearchSlot(tenant)
    made.push(make(one))
  }
  return made
}
