const CHARSET = /\s*;\s*charset=(?:"[^"]*"|[^;]*)/giu
const UTF16 = '; charset=utf-16le'

/**
 * An output's bytes, which decode to the same text: UTF-8, or UTF-16 for a text with halves of surrogate pairs, which UTF-8
 * cannot hold. The media type says which, whatever charset the content had at its source.
 */
export function encodeOutput(text: string, mediaType: string): { readonly bytes: Buffer; readonly mediaType: string } {
  if (text.isWellFormed())
    return { bytes: Buffer.from(text, 'utf8'), mediaType: mediaType.replace(CHARSET, '; charset=utf-8') }
  return { bytes: Buffer.from(text, 'utf16le'), mediaType: mediaType.replace(CHARSET, '') + UTF16 }
}

/** How the bytes of an output of this media type were encoded. */
export const encodingOf = (mediaType: string): 'utf-8' | 'utf-16le' =>
  mediaType.endsWith(UTF16) ? 'utf-16le' : 'utf-8'
