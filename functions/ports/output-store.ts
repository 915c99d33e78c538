import type { SessionKey } from '../domain/session.ts'

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** How long a link lives at most (promises O3). */
export const LINK_SECONDS = 300

/** Large contents and media, by session and object name (ULIDs with an optional suffix; never a path). */
export interface OutputStore {
  /**
   * Durable when it resolves. Creates, never overwrites: rejects with `storage_failed` when the name is taken by other bytes;
   * the same bytes again are fine.
   */
  put(key: SessionKey, name: string, bytes: Uint8Array, mediaType: string): Promise<void>
  /** Rejects with `output_not_found`. A range beyond the end is cut to what there is. */
  read(key: SessionKey, name: string, range?: ByteRange): Promise<Uint8Array>
  /** Undefined when there is none. */
  stat(key: SessionKey, name: string): Promise<{ bytes: number; mediaType: string } | undefined>
  /**
   * An address from which anyone who has it can download the object for `LINK_SECONDS`; undefined where the store cannot give
   * one. `disposition`: the download's header of that name. It is a key to the object: never stored, logged or sent to a model.
   */
  link(key: SessionKey, name: string, disposition: string): Promise<string | undefined>
  /** Removes every object of the session; returns how many. */
  removeAll(key: SessionKey): Promise<number>
}
