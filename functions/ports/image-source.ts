/** The response of a server to a request for an image. */
export interface OpenImage {
  /** Size that the server declares, in bytes; undefined if it declares none. */
  readonly bytes: number | undefined
  /** Reads the whole image. Rejects with `ImageUnavailable` if it has more than `limit` bytes. */
  read(limit: number): Promise<Uint8Array>
  /** Closes the connection. */
  close(): void
}

/** Reads images from the addresses that inputs name. */
export interface ImageSource {
  /**
   * Sends the request for an image. The source's time limit starts now; the whole image must arrive within this time. Rejects
   * with `ImageUnavailable` if the address is refused, or if the status of the response shows that it has no image. Rejects with
   * the signal's reason after an abort.
   */
  open(url: string, signal: AbortSignal): Promise<OpenImage>
}

/**
 * The image cannot be fetched. The message is the end of a sentence that begins with the image's name. It contains no text of the
 * server.
 */
export class ImageUnavailable extends Error {
  override readonly name = 'ImageUnavailable'
}

/** Returns the reason for rejecting an image with more bytes than `limit`. */
export const tooLarge = (limit: number): string =>
  `has more than ${(limit / 1_000_000).toFixed(1).replace('.0', '')} MB`
