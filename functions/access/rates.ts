import { definedFields } from '../domain/defined-fields.ts'
import type { ApiKey } from '../domain/keys/api-key.ts'
import { requestRate } from '../domain/keys/request-rate.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { NewRun } from '../ports/run-inbox.ts'
import type { Caller } from './caller.ts'

/**
 * Counts a request against the key's rate per second. Returns 0, or the milliseconds to wait if the rate is exceeded.
 */
export async function takeRequest(
  { keys, clock }: { readonly keys: Pick<KeyStore, 'take'>; readonly clock: Pick<Clock, 'now'> },
  { key }: Caller,
): Promise<number> {
  if (key?.caps.requestsPerSecond === undefined) return 0
  return keys.take(key.id, requestRate(key.caps.requestsPerSecond), clock.now())
}

/** Limits set by the operator. A missing field means no limit. */
export interface Caps {
  /** The caps of each key that has no caps of its own. */
  readonly keys: ApiKey['caps']
  /** The daily limits (UTC) of each tenant. */
  readonly tenants: { readonly tokensPerDay?: number; readonly dollarsPerDay?: number }
  /** Limits of single tenants, by name. A missing field means the limit for all tenants; null means no limit. */
  readonly named?: ReadonlyMap<string, NamedTenant>
}
interface NamedTenant {
  readonly tokensPerDay?: number | null | undefined
  readonly dollarsPerDay?: number | null | undefined
}

export const NO_CAPS: Caps = { keys: {}, tenants: {} }

/** Returns the caps of the key and the tenant. The write that accepts a run must check these caps. */
export function countedFor(
  { key, tenant }: Pick<Caller, 'key' | 'tenant'>,
  { tenants, named }: Caps,
): Pick<NewRun, 'keyId' | 'mostActive' | 'budget'> {
  const own = named?.get(tenant)
  const limit = (ofOwn: number | null | undefined, ofAll: number | undefined): number | undefined =>
    ofOwn === undefined ? ofAll : (ofOwn ?? undefined)
  const budget = definedFields({
    keyTokens: key?.caps.tokensPerDay,
    tenantTokens: limit(own?.tokensPerDay, tenants.tokensPerDay),
    tenantDollars: limit(own?.dollarsPerDay, tenants.dollarsPerDay),
  })
  const counted = definedFields({ keyId: key?.id, mostActive: key?.caps.activeRuns })
  return Object.keys(budget).length === 0 ? counted : { ...counted, budget }
}
