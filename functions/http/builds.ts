import { setImmediate as nextRound } from 'node:timers/promises'

/** Documents that are made at a time: enough to wait for a store, and too few to fill the memory with what they are made of. */
const AT_ONCE = 2
/** Rounds of the event loop in which a short request is received and gets its response. */
const ROUNDS = 4

/** Makes long documents, few at a time. Other requests, such as a health check, get their response in between. */
export interface Builds {
  /** The document of this name as of some moment from now on: whoever asks for it before it is begun gets the same one. */
  build<Document>(name: string, make: () => Promise<Document>): Promise<Document>
}

/** What this process makes. */
export function createBuilds(atOnce = AT_ONCE): Builds {
  const asked = new Map<string, Promise<unknown>>()
  const waiting: (() => void)[] = []
  let free = atOnce
  return {
    build<Document>(name: string, make: () => Promise<Document>): Promise<Document> {
      const known = asked.get(name)
      // The same name is always the same kind of document.
      if (known !== undefined) return known as Promise<Document>
      const made = begin(name, make)
      asked.set(name, made)
      return made
    },
  }

  async function begin<Document>(name: string, make: () => Promise<Document>): Promise<Document> {
    await whenFree()
    asked.delete(name)
    try {
      return await make()
    } finally {
      done()
    }
  }

  async function whenFree(): Promise<void> {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free--
    await others()
  }

  function done(): void {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
}

/** Lets other requests be received and responded to. */
export async function others(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await nextRound()
}
