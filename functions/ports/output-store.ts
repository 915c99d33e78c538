import type { SessionKey } from '../domain/session.ts'

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** How long a link lives at most (promises O3). */
export const LINK_SECONDS = 300

/**
 * Large contents and media, by session and object name (ULIDs with an optional suffix; never a path). Rejects with
 * `storage_failed`, `retryable` where the store failed for a while and not for good.
 */
export interface OutputStore {
  /**
   * Durable when it resolves. Creates, never overwrites: rejects with `storage_failed`, for good, if the name holds other bytes;
   * storing the same bytes again is fine. `mediaType` is one of `isMediaType` (`functions/domain/messages/media-type.ts`).
   */
  put(key: SessionKey, name: string, bytes: Uint8Array, mediaType: string): Promise<void>
  /** Rejects with `output_not_found`. A range that goes beyond the end is cut. */
  read(key: SessionKey, name: string, range?: ByteRange): Promise<Uint8Array>
  /** Undefined if there is none. */
  stat(key: SessionKey, name: string): Promise<{ bytes: number; mediaType: string } | undefined>
  /**
   * An address that lets anyone who has it download the object for `LINK_SECONDS`; undefined if the store has no such
   * addresses. `disposition`: the download's Content-Disposition header. The address is a key to the object: never
   * store it, log it or send it to a model.
   */
  link(key: SessionKey, name: string, disposition: string): Promise<string | undefined>
  /** Removes this object, where it is there: for what was stored on behalf of something that was then refused. */
  remove(key: SessionKey, name: string): Promise<void>
  /** Removes every object of the session; returns how many. */
  removeAll(key: SessionKey): Promise<number>
}
