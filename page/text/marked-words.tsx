import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** Maximum number of marks in one text. */
const MAX_MARKS = 500

/** Pattern of the words to mark in all texts of the subtree; undefined if no words are marked. */
export const MarkedWords = createContext<RegExp | undefined>(undefined)

/** Shows a text in which the words of `MarkedWords` are marked. */
export function Marked({ text }: { readonly text: string }) {
  const pattern = useContext(MarkedWords)
  return <>{pattern === undefined ? text : withMarks(text, pattern)}</>
}

function withMarks(text: string, pattern: RegExp): ComponentChildren {
  const pieces: ComponentChildren[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(pattern)) {
    if (pieces.length >= 2 * MAX_MARKS) break
    pieces.push(text.slice(end, index), <mark key={index}>{word}</mark>)
    end = index + word.length
  }
  return [...pieces, text.slice(end)]
}
