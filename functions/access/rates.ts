import { TooltrailError } from '../domain/errors.ts'
import { requestRate } from '../domain/request-rate.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { Caller } from './caller.ts'

/** Counts a request against the key's requests a second. Returns 0, or the milliseconds to wait where it came too early. */
export async function takeRequest(
  { keys, clock }: { readonly keys: Pick<KeyStore, 'take'>; readonly clock: Pick<Clock, 'now'> },
  { key }: Caller,
): Promise<number> {
  if (key?.caps.requestsPerSecond === undefined) return 0
  return keys.take(key.id, requestRate(key.caps.requestsPerSecond), clock.now())
}

/** Refuses a new run beyond the key's cap on runs that are queued, running or paused, with `too_many_active_runs`. */
export async function checkActiveRuns(
  { reader }: { readonly reader: Pick<LogReader, 'activeRuns'> },
  caller: Caller,
): Promise<void> {
  const cap = caller.key?.caps.activeRuns
  if (caller.key === undefined || cap === undefined) return
  if ((await reader.activeRuns(caller.tenant, caller.key.id)) >= cap)
    throw new TooltrailError(
      'too_many_active_runs',
      `this key may have ${cap === 1 ? '1 run' : `${cap} runs`} queued, running or paused at a time: wait until one has ended, or cancel one`,
      { retryable: true },
    )
}
