import type { ApiKey, CapChange } from '../domain/keys/api-key.ts'
import type { RequestRate } from '../domain/keys/request-rate.ts'

/** A call of a key that stays open. */
export interface RequestSlot {
  /** Unlike that of any other call. */
  readonly call: string
  /** Places that the key has. */
  readonly most: number
  /** When the place is given back if nobody does, in milliseconds since 1970. */
  readonly until: number
}

/** API keys by the SHA-256 (hex) of their secret. */
export interface KeyStore {
  create(hash: string, key: ApiKey): Promise<void>
  /** Undefined for unknown and revoked keys. The caller checks whether a key has expired. */
  find(hash: string): Promise<ApiKey | undefined>
  /** Lists keys with their last use, also revoked and expired ones. */
  list(tenant?: string): Promise<readonly ApiKey[]>
  /**
   * Changes caps of a key in one write; concurrent changes of different caps all hold. Returns the changed key; undefined if no key
   * has this id, or it is revoked.
   */
  cap(id: string, change: CapChange): Promise<ApiKey | undefined>
  /** Stores that the key was used at `now`, in milliseconds since 1970. An earlier time than the stored one changes nothing. */
  used(id: string, now: number): Promise<void>
  /** Returns false if there is no such key. */
  revoke(id: string, now: number): Promise<boolean>
  /** Whether any key, live or revoked, was ever made; from then on requests need one. */
  any(): Promise<boolean>
  /**
   * Counts a request of a key at `now` (milliseconds since 1970), over all processes. Returns 0 if it is within the
   * rate. Otherwise counts nothing and returns the milliseconds to wait.
   */
  take(id: string, rate: RequestRate, now: number): Promise<number>
  /**
   * Takes a place of a key at `now`, over all processes; for a call that has one, only its end moves. Returns whether the call
   * has a place: the key may have no more.
   */
  enter(id: string, place: RequestSlot, now: number): Promise<boolean>
  /** Gives back a call's place, if it has one. */
  leave(id: string, call: string): Promise<void>
}
