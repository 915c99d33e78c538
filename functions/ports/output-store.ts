import type { SessionKey } from '../domain/session.ts'

/** A range of bytes; `start` and `end` are inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Lifetime of a link, in seconds (promises O3). */
export const LINK_SECONDS = 300

/**
 * Stores large contents and media by session and object name. A name is a ULID with an optional suffix, never a path.
 * Rejects with `storage_failed`, which is `retryable` for temporary failures.
 */
export interface OutputStore {
  /**
   * Stores an object. It is durable when this resolves. Objects are never overwritten: if the name holds other bytes, rejects
   * with a permanent `storage_failed`. Storing equal bytes again succeeds. `mediaType` must satisfy `isMediaType`
   * (`functions/domain/messages/media-type.ts`).
   */
  put(key: SessionKey, name: string, bytes: Uint8Array, mediaType: string): Promise<void>
  /** Reads an object, or a range of it. Rejects with `output_not_found`. A range beyond the end is truncated. */
  read(key: SessionKey, name: string, range?: ByteRange): Promise<Uint8Array>
  /** The size and type of an object; undefined if it does not exist. */
  stat(key: SessionKey, name: string): Promise<{ bytes: number; mediaType: string } | undefined>
  /**
   * Creates an address from which anyone can download the object for `LINK_SECONDS`; undefined if the store does not
   * support this. `disposition` is the download's Content-Disposition header. The address grants access to the object:
   * never store it, log it or send it to a model.
   */
  link(key: SessionKey, name: string, disposition: string): Promise<string | undefined>
  /** Removes an object if it exists. Used if an input is rejected after its objects were stored. */
  remove(key: SessionKey, name: string): Promise<void>
  /** Removes all objects of the session; returns their number. */
  removeAll(key: SessionKey): Promise<number>
}
