import { deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Shorter texts gain little. Longer ones (outputs of tools above all) shrink to half or less, and so does what is synced. */
const PACKED_FROM_CHARS = 1_000

/** Up to a window's length, the first level and little memory cost a third less time and some 4 % more room. */
const SHORT_CHARS = 4_096
const QUICK = { level: 1, windowBits: 12, memLevel: 5, chunkSize: 4_096 }

/** From here on Zstandard: as small, in a tenth of the time. 4 MB of random words would block the thread for 0.15 s. */
const LONG_CHARS = 65_536

/** A text as its column keeps it: itself, or packed bytes where those are fewer. */
export function pack(text: string): string | Uint8Array {
  if (text.length < PACKED_FROM_CHARS) return text
  const packed =
    text.length < LONG_CHARS ? deflateRawSync(text, text.length <= SHORT_CHARS ? QUICK : {}) : zstdCompressSync(text)
  return packed.byteLength < text.length ? packed : text
}

/** The text that `pack` was given. */
export function unpack(stored: string | Uint8Array): string {
  if (typeof stored === 'string') return stored
  return (isZstd(stored) ? zstdDecompressSync(stored) : inflateRawSync(stored)).toString()
}

/** The first bytes of a Zstandard frame. Deflated bytes never begin so: as a stored block, its length would not fit itself. */
const isZstd = ([first, second, third, fourth]: Uint8Array): boolean =>
  first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd
