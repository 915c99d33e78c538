import { yieldToEventLoop } from '../domain/time/yield-to-event-loop.ts'
import { isExpired } from '../domain/keys/api-key.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'

/** How often the keys of open calls are checked, in milliseconds. */
const CHECK_MS = 5_000

interface Dependencies {
  readonly keys: Pick<KeyStore, 'find'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
}

/** A call under way. */
export interface Watched {
  readonly call: AbortController
  /** Whether it takes a place of its key. */
  readonly takesSlot: boolean
  /** Called every few seconds; never rejects. */
  keep(): Promise<void>
}

/** Calls by the hash of their key's secret: they are kept while they go on, and end within 10 s after their key was revoked or has expired. */
export function createWatchedRequests({ keys, clock, log }: Dependencies) {
  const byKey = new Map<string, Set<Watched>>()
  let watching: AbortController | undefined
  return {
    slotsOf: (secretHash: string): number =>
      [...(byKey.get(secretHash) ?? [])].filter(({ takesSlot }) => takesSlot).length,
    add(secretHash: string, watched: Watched): void {
      const calls = byKey.get(secretHash) ?? new Set()
      byKey.set(secretHash, calls.add(watched))
      if (watching !== undefined) return
      watching = new AbortController()
      void watch(watching.signal)
    },
    remove(secretHash: string, watched: Watched): void {
      const calls = byKey.get(secretHash)
      calls?.delete(watched)
      if (calls?.size === 0) byKey.delete(secretHash)
      if (byKey.size > 0) return
      watching?.abort()
      watching = undefined
    },
  }

  async function watch(signal: AbortSignal): Promise<void> {
    let keeping: Promise<void> | undefined
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      // Not waited for: a store that is slow to write holds up no look for revoked keys.
      keeping ??= keepAll().finally(() => (keeping = undefined))
      await Promise.all([...byKey.keys()].map(endIfInvalid))
    }
  }

  /** Each may be a write, which on SQLite blocks the event loop: others have their turn in between. */
  async function keepAll(): Promise<void> {
    for (const { keep } of [...byKey.values()].flatMap((calls) => [...calls])) {
      await keep()
      await yieldToEventLoop()
    }
  }

  async function endIfInvalid(hash: string): Promise<void> {
    try {
      const key = await keys.find(hash)
      if (key !== undefined && !isExpired(key, clock.now())) return
      for (const { call } of byKey.get(hash) ?? []) call.abort()
    } catch (error) {
      log.error('could not check the key of open calls', error)
    }
  }
}
