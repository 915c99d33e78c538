import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'

/** Documents that are made at a time: enough to wait for a store, and too few to fill the memory with what they are made of. */
const AT_ONCE = 2
/** Rounds of the event loop in which a short request is received and gets its response. */
const ROUNDS = 4

/**
 * Makes long documents, few at a time. Tenants take turns, so that nobody waits for all that another tenant has asked for. Other
 * requests, such as a health check, get their response in between.
 */
export interface Builds {
  /**
   * The tenant's document of this name as of some moment from now on: whoever asks for it before it is begun gets the same one.
   */
  build<Document>(tenant: string, name: string, make: () => Promise<Document>): Promise<Document>
}

/** What this process makes. */
export function createBuilds(atOnce = AT_ONCE): Builds {
  const asked = new Map<string, Promise<unknown>>()
  const waiting = createTenantLine<() => void>()
  let free = atOnce
  return {
    build<Document>(tenant: string, name: string, make: () => Promise<Document>): Promise<Document> {
      const whole = JSON.stringify([tenant, name])
      const known = asked.get(whole)
      // The same name is always the same kind of document.
      if (known !== undefined) return known as Promise<Document>
      const made = begin(tenant, whole, make)
      asked.set(whole, made)
      return made
    },
  }

  async function begin<Document>(tenant: string, whole: string, make: () => Promise<Document>): Promise<Document> {
    await whenFree(tenant)
    asked.delete(whole)
    try {
      return await make()
    } finally {
      done()
    }
  }

  async function whenFree(tenant: string): Promise<void> {
    if (free === 0) await new Promise<void>((resolve) => waiting.add(tenant, resolve))
    else free--
    await others()
  }

  function done(): void {
    const next = waiting.next()
    if (next === undefined) free++
    else next()
  }
}

/** Lets other requests be received and responded to. */
export async function others(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await yieldToEventLoop()
}
