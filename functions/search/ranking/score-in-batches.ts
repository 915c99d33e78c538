import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'

/** Documents that are read for their words in one go, in some 30 ms whatever they hold; then others get their turn. */
const AT_ONCE = 4

const waiting = createTenantLine<() => void>()
let isGiving = false

/**
 * Resolves when everybody else has had a turn: however many searches wait, one goes on in each round of the event loop. Tenants take
 * turns, so that a search waits for those of its own tenant, and for one of each other.
 */
export function searchTurn(tenant: string): Promise<void> {
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

/** What `make` makes of each, a few in each turn of this tenant. */
export async function mapInBatches<One, Made>(
  tenant: string,
  all: readonly One[],
  make: (one: One) => Made,
): Promise<Made[]> {
  const made: Made[] = []
  for (const one of all) {
    if (made.length % AT_ONCE === 0) await searchTurn(tenant)
    made.push(make(one))
  }
  return made
}
