import type { SessionKey } from '../domain/session.ts'

export interface DeletionState {
  /** Counts so far, over all attempts. */
  readonly messages: number
  readonly runs: number
  readonly documents: number
  readonly outputs: number
  /** Rows, objects and documents are gone; only the tombstone is left. */
  readonly removed: boolean
}

/**
 * Deletes a session in steps that can be repeated and resumed from its tombstone, by any process: tombstone, rows (with
 * their history documents) and objects until `removed`, the objects once more a lease's length later, finish.
 */
export interface SessionDeletion {
  /**
   * Turns the header into a tombstone, which fences every later write and keeps the id from being used for 30 days; due
   * at once. `ifExpired`: only if the session is still expired and not due. Returns false if there is no live session.
   */
  tombstone(key: SessionKey, options?: { readonly ifExpired: boolean }): Promise<boolean>
  /** Removes up to `limit` rows of a tombstoned session with their history documents. Returns whether rows are left. */
  removeRows(key: SessionKey, limit: number): Promise<{ more: boolean }>
  /** Records that all rows are gone and `outputs` objects were removed; makes the tombstone due a lease's length later. */
  markRemoved(key: SessionKey, outputs: number): Promise<void>
  /** The objects were removed once more, so the tombstone is no longer due. */
  finish(key: SessionKey): Promise<void>
  /**
   * Undefined if the session was never deleted, or its tombstone is older than 30 days. With `owner`: also if the
   * session was not this owner's. A tombstone keeps a hash of the owner, not the name.
   */
  state(key: SessionKey, owner?: string): Promise<DeletionState | undefined>
}
