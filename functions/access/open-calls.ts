import { TooltrailError } from '../domain/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'
import type { Caller } from './caller.ts'

/** Streams and waiting calls that one key, one tenant and one process may have open at a time: a tenant leaves room for others. */
const MOST_OF_KEY = 256
const MOST_OF_TENANT = 1_024
const MOST = 2_048
/** How often the keys of open calls are checked, in milliseconds. */
const CHECK_MS = 5_000

interface Dependencies {
  readonly keys: Pick<KeyStore, 'find'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
}

export interface OpenCall {
  /** Aborts within 10 s after the key was revoked. */
  readonly signal: AbortSignal
  close(): void
}

export interface OpenCalls {
  /** Counts a call that stays open until it is closed. Throws `too_many_open_calls` beyond what a key, a tenant or a process may have. */
  open(caller: Caller): OpenCall
  /** The same for what takes no place: a file that is being sent. */
  watch(caller: Caller): OpenCall
}

/** Calls that stay open: they are counted, and end when their key is revoked. */
export function createOpenCalls(dependencies: Dependencies): OpenCalls {
  const places = createPlaces()
  const { begin, placesOf } = createWatched(dependencies)
  return {
    open({ tenant, key, secretHash }) {
      if (placesOf(secretHash) >= MOST_OF_KEY) throw tooMany(`key ${key?.id} has`, MOST_OF_KEY)
      places.take(tenant)
      return begin(secretHash, true, () => places.giveBack(tenant))
    },
    watch: ({ secretHash }) => begin(secretHash, false, () => undefined),
  }
}

/** Calls, each with its key's hash if it has a key, which are ended when that is revoked. */
function createWatched({ keys, clock, log }: Dependencies) {
  /** Those of each key, and whether they take a place. */
  const byKey = new Map<string, Map<AbortController, boolean>>()
  let watching: AbortController | undefined
  return {
    placesOf: (secretHash: string | undefined): number =>
      [...(byKey.get(secretHash ?? '')?.values() ?? [])].filter(Boolean).length,
    begin(secretHash: string | undefined, takesPlace: boolean, onClose: () => void): OpenCall {
      const call = new AbortController()
      const calls = byKey.get(secretHash ?? '') ?? new Map<AbortController, boolean>()
      calls.set(call, takesPlace)
      if (secretHash !== undefined) {
        byKey.set(secretHash, calls)
        startWatching()
      }
      return {
        signal: call.signal,
        close() {
          if (!calls.delete(call)) return
          onClose()
          if (secretHash !== undefined && calls.size === 0 && byKey.get(secretHash) === calls) byKey.delete(secretHash)
          if (byKey.size === 0) stopWatching()
        },
      }
    },
  }

  function startWatching(): void {
    if (watching !== undefined) return
    const current = (watching = new AbortController())
    void watchKeys(current.signal)
  }

  function stopWatching(): void {
    watching?.abort()
    watching = undefined
  }

  async function watchKeys(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      await Promise.all([...byKey.keys()].map(endIfRevoked))
    }
  }

  async function endIfRevoked(hash: string): Promise<void> {
    try {
      if ((await keys.find(hash)) === undefined) for (const call of byKey.get(hash)?.keys() ?? []) call.abort()
    } catch (error) {
      log.error('could not check the key of open calls', error)
    }
  }
}

/** The places of a process and of each tenant. */
function createPlaces() {
  const ofTenants = new Map<string, number>()
  let taken = 0
  return {
    /** Throws where there is none. */
    take(tenant: string): void {
      const ofTenant = ofTenants.get(tenant) ?? 0
      if (taken >= MOST) throw tooMany('this server has', MOST)
      if (ofTenant >= MOST_OF_TENANT) throw tooMany(`tenant ${tenant} has`, MOST_OF_TENANT)
      taken++
      ofTenants.set(tenant, ofTenant + 1)
    },
    giveBack(tenant: string): void {
      const left = (ofTenants.get(tenant) ?? 0) - 1
      taken--
      if (left > 0) ofTenants.set(tenant, left)
      else ofTenants.delete(tenant)
    },
  }
}

const tooMany = (who: string, most: number): TooltrailError =>
  new TooltrailError(
    'too_many_open_calls',
    `${who} ${most} streams and waiting calls open, which is the most: close some, or send Prefer: respond-async`,
    { retryable: true },
  )
