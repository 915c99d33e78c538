import { TooltrailError } from '../domain/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'
import type { Caller } from './caller.ts'

/** Streams and waiting calls that one key, and one process, may have open at a time. */
const MOST_OF_KEY = 256
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
  /** Counts a call that stays open until it is closed. Throws `too_many_open_calls` beyond what a key or a process may have. */
  open(caller: Caller): OpenCall
}

/** Calls that stay open: they are counted, and end when their key is revoked. */
export function createOpenCalls({ keys, clock, log }: Dependencies): OpenCalls {
  /** Those of each key, by the hash of its secret. */
  const byKey = new Map<string, Set<AbortController>>()
  let open = 0
  let watching: AbortController | undefined
  return {
    open({ key, secretHash }) {
      const calls = secretHash === undefined ? undefined : (byKey.get(secretHash) ?? new Set())
      if (open >= MOST) throw tooMany('this server has', MOST)
      if (calls !== undefined && calls.size >= MOST_OF_KEY) throw tooMany(`key ${key?.id} has`, MOST_OF_KEY)
      const call = new AbortController()
      open++
      if (calls !== undefined && secretHash !== undefined) {
        byKey.set(secretHash, calls.add(call))
        watch()
      }
      let closed = false
      return {
        signal: call.signal,
        close() {
          if (closed) return
          closed = true
          open--
          calls?.delete(call)
          if (secretHash !== undefined && calls?.size === 0 && byKey.get(secretHash) === calls) byKey.delete(secretHash)
          if (byKey.size === 0) stopWatching()
        },
      }
    },
  }

  function watch(): void {
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
      if ((await keys.find(hash)) === undefined) for (const call of byKey.get(hash) ?? []) call.abort()
    } catch (error) {
      log.error('could not check the key of open calls', error)
    }
  }
}

const tooMany = (who: string, most: number): TooltrailError =>
  new TooltrailError(
    'too_many_open_calls',
    `${who} ${most} streams and waiting calls open, which is the most: close some, or send Prefer: respond-async`,
    { retryable: true },
  )
