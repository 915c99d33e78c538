import type { SessionKey } from '../domain/session.ts'

export interface DeletionState {
  /** Number of removed items of each kind, over all attempts so far. */
  readonly messages: number
  readonly runs: number
  readonly documents: number
  readonly outputs: number
  /** Whether all rows, objects and documents were removed. If so, only the tombstone remains. */
  readonly removed: boolean
}

/**
 * Deletes a session in steps. Any process can repeat a step, or resume the deletion from the tombstone. First, the tombstone is
 * written. Next, the rows, their history documents, and the objects are removed (`markRemoved`). After the duration of a lease,
 * the objects are removed again (`finish`).
 */
export interface SessionDeletion {
  /**
   * Turns the header into a tombstone, which is due at once. The tombstone fences all later writes and reserves the id for 30
   * days. With `ifExpired`, deletes the session only if it is still expired and not due. Returns false if there is no session
   * to delete.
   */
  tombstone(key: SessionKey, options?: { readonly ifExpired: boolean }): Promise<boolean>
  /** Removes up to `limit` rows of a tombstoned session with their history documents. Returns whether rows are left. */
  removeRows(key: SessionKey, limit: number): Promise<{ more: boolean }>
  /** Records that all rows and `outputs` objects were removed. The tombstone becomes due again after the duration of a lease. */
  markRemoved(key: SessionKey, outputs: number): Promise<void>
  /** Records that the objects were removed again; the tombstone is no longer due. */
  finish(key: SessionKey): Promise<void>
  /**
   * The progress of a deletion. Undefined if the session was never deleted, or its tombstone is older than 30 days.
   * With `owner`, also undefined if the session had another owner. A tombstone keeps a hash of the owner, not the name.
   */
  state(key: SessionKey, owner?: string): Promise<DeletionState | undefined>
}
