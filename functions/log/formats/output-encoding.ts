import { isMediaType } from '../../domain/messages/media-type.ts'

const CHARSET = /\s*;\s*charset=(?:"[^"]*"|[^;]*)/giu
const UTF16 = '; charset=utf-16le'
const PLAIN = 'text/plain; charset=utf-8'

/**
 * An output's bytes, which decode to the same text: UTF-8, or UTF-16 for a text with halves of surrogate pairs, which UTF-8
 * cannot hold. The media type says which, whatever charset the content had at its source; what is no media type becomes that of
 * plain text.
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

/** How the bytes of an output of this media type were encoded. */
export const encodingOf = (mediaType: string): 'utf-8' | 'utf-16le' =>
  mediaType.endsWith(UTF16) ? 'utf-16le' : 'utf-8'
