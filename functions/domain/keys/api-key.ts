export type Scope = 'read' | 'write' | 'admin'

/** Active runs that a key may be capped to at most: a store may keep a list of them for each key. */
export const MOST_ACTIVE_RUNS = 1_000

/** Streams and waiting calls that a key may be capped to at most: a store may keep all of a key's in one item. */
export const MOST_OPEN_CALLS = 1_000

/** What a presented key may do. The secret itself is never stored, only its SHA-256. */
export interface ApiKey {
  readonly id: string
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** When set, the key sees and makes only sessions of this owner. */
  readonly owner?: string
  /** When set, the key starts runs of these agents only. */
  readonly agents?: readonly string[]
  readonly caps: {
    readonly requestsPerSecond?: number
    readonly activeRuns?: number
    /** Streams and waiting calls, over all processes. */
    readonly openCalls?: number
    readonly tokensPerDay?: number
  }
  readonly createdAt: number
  readonly revokedAt?: number
}
