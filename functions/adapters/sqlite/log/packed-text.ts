import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Shorter texts gain little. Longer ones (outputs of tools above all) shrink to half or less, and so does what is synced. */
const PACKED_FROM_CHARS = 1_000

/** Up to a window's length, the first level and little memory cost a third less time and some 4 % more room. */
const SHORT_CHARS = 4_096
const QUICK = { level: 1, windowBits: 12, memLevel: 5, chunkSize: 4_096 }

/** A text as its column keeps it: itself, or deflated bytes where those are fewer. */
export function pack(text: string): string | Uint8Array {
  if (text.length < PACKED_FROM_CHARS) return text
  const deflated = deflateRawSync(text, text.length <= SHORT_CHARS ? QUICK : {})
  return deflated.byteLength < text.length ? deflated : text
}

/** The text that `pack` was given. */
export const unpack = (stored: string | Uint8Array): string =>
  typeof stored === 'string' ? stored : inflateRawSync(stored).toString()
