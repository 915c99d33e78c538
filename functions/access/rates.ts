import { definedFields } from '../domain/defined-fields.ts'
import { requestRate } from '../domain/request-rate.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Caller } from './caller.ts'

/** Counts a request against the key's requests a second. Returns 0, or the milliseconds to wait where it came too early. */
export async function takeRequest(
  { keys, clock }: { readonly keys: Pick<KeyStore, 'take'>; readonly clock: Pick<Clock, 'now'> },
  { key }: Caller,
): Promise<number> {
  if (key?.caps.requestsPerSecond === undefined) return 0
  return keys.take(key.id, requestRate(key.caps.requestsPerSecond), clock.now())
}

/** What the accepting write has to know to hold a new run to its key's cap on active runs. */
export const countedFor = ({ key }: Caller): { readonly keyId?: string; readonly mostActive?: number } =>
  definedFields({ keyId: key?.id, mostActive: key?.caps.activeRuns })
