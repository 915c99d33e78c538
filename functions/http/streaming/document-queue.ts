import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'

/**
 * Number of documents built concurrently. It is large enough to hide the store's latency and small enough to limit the
 * memory.
 */
const AT_ONCE = 2
/** Ticks of the event loop that suffice to receive and answer a short request. */
const ROUNDS = 4

/**
 * Builds long documents, a few at a time. The queue is fair between tenants, so that a tenant with many requests does
 * not delay the others. It yields to other requests, such as a health check.
 */
export interface Builds {
  /**
   * Builds a document. Requests for the same document share one build if they arrive before it starts. The result is
   * never older than the request.
   */
  build<Document>(tenant: string, name: string, make: () => Promise<Document>): Promise<Document>
}

/** Creates the document queue of this process. */
export function createBuilds(atOnce = AT_ONCE): Builds {
  const asked = new Map<string, Promise<unknown>>()
  const waiting = createTenantLine<() => void>()
  let free = atOnce
  return {
    build<Document>(tenant: string, name: string, make: () => Promise<Document>): Promise<Document> {
      const whole = JSON.stringify([tenant, name])
      const known = asked.get(whole)
      // The cast is safe, because one name always means the same type of document.
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

/** Yields, so that other requests are received and answered. */
export async function others(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await yieldToEventLoop()
}
