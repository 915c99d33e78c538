import { yieldToEventLoop } from '../domain/time/yield-to-event-loop.ts'
import { isExpired } from '../domain/keys/api-key.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'

/** Interval between two checks of the keys of open requests, in milliseconds. */
const CHECK_MS = 5_000

interface Dependencies {
  readonly keys: Pick<KeyStore, 'find'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
}

/** An open request. */
export interface Watched {
  readonly call: AbortController
  /** Whether the request takes a slot of its key. */
  readonly takesSlot: boolean
  /** Renews the request's slot. Called every few seconds; never rejects. */
  keep(): Promise<void>
}

/**
 * Watches open requests, by the hash of their key's secret. Renews their slots. Ends a request within 10 s after its
 * key was revoked or has expired.
 */
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
      // Not awaited, so that slow writes do not delay the checks for revoked keys.
      keeping ??= keepAll().finally(() => (keeping = undefined))
      await Promise.all([...byKey.keys()].map(endIfInvalid))
    }
  }

  /** Renews all slots. Yields after each renewal, because on SQLite, it may be a write that blocks the event loop. */
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
