const HALF = /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/giu

/** Counts the escapes of half a surrogate pair in a text of JSON. */
export const halfCharacters = (text: string): number => [...text.matchAll(HALF)].length
