/** The response of a server that an image is read from. */
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
   * Sends the request for an image. The image must be complete within the source's time limit, which starts now. Rejects
   * with `ImageUnavailable` if the address is refused or its server does not respond with an image's status. Rejects
   * with the signal's reason after an abort.
   */
  open(url: string, signal: AbortSignal): Promise<OpenImage>
}

/** The image cannot be fetched. The message continues a sentence that names the image, and quotes no server. */
export class ImageUnavailable extends Error {
  override readonly name = 'ImageUnavailable'
}

/** The reason for an image with more bytes than `limit`. */
export const tooLarge = (limit: number): string =>
  `has more than ${(limit / 1_000_000).toFixed(1).replace('.0', '')} MB`
