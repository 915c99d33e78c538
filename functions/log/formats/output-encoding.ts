import { isMediaType } from '../../domain/messages/media-type.ts'

const CHARSET = /\s*;\s*charset=(?:"[^"]*"|[^;]*)/giu
const UTF16 = '; charset=utf-16le'
const PLAIN = 'text/plain; charset=utf-8'

/**
 * Encodes an output as UTF-8. If the text has lone surrogates, which UTF-8 cannot represent, encodes it as UTF-16. The returned
 * media type names this encoding, not the charset of the source. An invalid media type is replaced by that of plain text.
 */
export function encodeOutput(text: string, mediaType: string): { readonly bytes: Buffer; readonly mediaType: string } {
  const isUtf8 = text.isWellFormed()
  const encoded = (type: string): string =>
    isUtf8 ? type.replace(CHARSET, '; charset=utf-8') : type.replace(CHARSET, '') + UTF16
  const declared = isMediaType(mediaType) ? encoded(mediaType) : ''
  return {
    bytes: Buffer.from(text, isUtf8 ? 'utf8' : 'utf16le'),
    mediaType: isMediaType(declared) ? declared : encoded(PLAIN),
  }
}

/** Returns the encoding of an output with this media type. */
export const encodingOf = (mediaType: string): 'utf-8' | 'utf-16le' =>
  mediaType.endsWith(UTF16) ? 'utf-16le' : 'utf-8'
