const HALF = /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/giu

/** Counts the escapes in a JSON text that stand for half a surrogate pair. */
export const halfCharacters = (text: string): number => [...text.matchAll(HALF)].length
