export type Scope = 'read' | 'write' | 'admin'

/** Largest cap of active runs. A larger one is not allowed, because a store may keep a list of these runs for each key. */
export const MAX_ACTIVE_RUNS = 1_000

/**
 * Largest cap of streams and waiting requests. A larger one is not allowed, because a store may keep all open requests
 * of a key in one item.
 */
export const MAX_OPEN_REQUESTS = 1_000

/** Limits of one key. If a limit is missing, the operator's limit for all keys applies. */
export interface KeyCaps {
  readonly requestsPerSecond?: number
  readonly activeRuns?: number
  /** Limit of streams and waiting requests, over all processes. */
  readonly openCalls?: number
  readonly tokensPerDay?: number
}

/** A change of caps: a number sets a cap, null removes it, and undefined keeps it. */
export type CapChange = { readonly [Cap in keyof KeyCaps]?: number | null | undefined }

/** The rights of an API key. The secret itself is never stored, only its SHA-256. */
export interface ApiKey {
  readonly id: string
  /** A label for people; not unique. */
  readonly name?: string
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** If set, the key sees and creates only sessions of this owner. */
  readonly owner?: string
  /** If set, the key starts runs of these agents only. */
  readonly agents?: readonly string[]
  readonly caps: KeyCaps
  readonly createdAt: number
  /** From this time on, requests with the key are rejected. */
  readonly expiresAt?: number
  /** Time of the key's last request, accurate to a day. Set only in lists of keys. */
  readonly lastUsedAt?: number
  readonly revokedAt?: number
}

/** Whether the key has expired at `now`. */
export const isExpired = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now

/** Applies a change to the caps of a key. */
export function changeCaps(caps: KeyCaps, change: CapChange): KeyCaps {
  const merged = Object.entries({ ...caps, ...dropUndefined(change) })
  return Object.fromEntries(merged.filter(([, limit]) => limit !== null)) as KeyCaps
}

const dropUndefined = (change: CapChange): CapChange =>
  Object.fromEntries(Object.entries(change).filter(([, limit]) => limit !== undefined))
