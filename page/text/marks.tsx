import type { ComponentChildren } from 'preact'

/** Returns `text` with each occurrence of `wanted` marked, ignoring case. */
export function marked(text: string, wanted: string): ComponentChildren {
  if (wanted === '') return text
  const low = text.toLowerCase()
  const word = wanted.toLowerCase()
  // A text may become longer in lower case. Its positions then differ from the original's, so nothing is marked.
  if (low.length !== text.length) return text
  const pieces: ComponentChildren[] = []
  let at = 0
  for (let next = low.indexOf(word); next !== -1; next = low.indexOf(word, at)) {
    pieces.push(text.slice(at, next), <mark key={next}>{text.slice(next, next + word.length)}</mark>)
    at = next + word.length
  }
  return [...pieces, text.slice(at)]
}
