import type { ApiKey, CapChange } from '../domain/keys/api-key.ts'
import type { RequestRate } from '../domain/keys/request-rate.ts'

/** A slot for one open request of a key. */
export interface RequestSlot {
  /** The unique id of the request. */
  readonly call: string
  /** Number of slots that the key has. */
  readonly most: number
  /** When the slot expires unless it is released or renewed, in milliseconds since 1970. */
  readonly until: number
}

/** Stores API keys by the SHA-256 (hex) of their secret. */
export interface KeyStore {
  create(hash: string, key: ApiKey): Promise<void>
  /** Finds a key; undefined for unknown and revoked ones. The caller checks whether the key has expired. */
  find(hash: string): Promise<ApiKey | undefined>
  /** Lists keys with their last use, including revoked and expired ones. */
  list(tenant?: string): Promise<readonly ApiKey[]>
  /**
   * Changes caps of a key in one write. Concurrent changes of different caps do not overwrite each other. Returns the changed
   * key. Undefined if the key is unknown or revoked.
   */
  cap(id: string, change: CapChange): Promise<ApiKey | undefined>
  /** Stores that the key was used at `now`, in milliseconds since 1970. Ignored if a later use is stored. */
  used(id: string, now: number): Promise<void>
  /** Revokes a key. Returns false if it does not exist. */
  revoke(id: string, now: number): Promise<boolean>
  /** Whether any key, even a revoked one, was ever created. If so, requests need a key. */
  any(): Promise<boolean>
  /**
   * Counts a request of a key at `now` (milliseconds since 1970), over all processes. Returns 0 if the request is within the
   * rate. Otherwise counts nothing, and returns the milliseconds until the request may be sent again.
   */
  take(id: string, rate: RequestRate, now: number): Promise<number>
  /**
   * Takes a slot of a key at `now`; slots are shared by all processes. If the request already has a slot, only changes the time
   * at which the slot expires. Returns false if no slot is free.
   */
  enter(id: string, place: RequestSlot, now: number): Promise<boolean>
  /** Releases the slot of a request, if it has one. */
  leave(id: string, call: string): Promise<void>
}
