import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

/** Words of an address: more of them, and longer ones, are ignored. */
const MAX_WORDS = 16
const MAX_WORD_CHARACTERS = 64
/** A shorter word is marked only where it stands alone: its letters are in many others. */
const MIN_PART_CHARACTERS = 4
/** Marks of one text. */
const MAX_MARKS = 500

/** Finds the words to mark in the texts below; undefined: none. */
export const MarkedWords = createContext<RegExp | undefined>(undefined)

/** Builds the pattern of words that are separated by white space; undefined without a word. */
export function patternOf(text: string): RegExp | undefined {
  const all = text.split(/\s+/u).filter((word) => word !== '' && word.length <= MAX_WORD_CHARACTERS)
  const words = [...new Set(all)].slice(0, MAX_WORDS).toSorted((left, right) => right.length - left.length)
  if (words.length === 0) return undefined
  const choices = words.map((word) => {
    const literal = word.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`)
    const isAlone = word.length < MIN_PART_CHARACTERS && /^[\p{Script=Latin}\p{N}]+$/u.test(word)
    return isAlone ? String.raw`(?<![\p{L}\p{N}])${literal}(?![\p{L}\p{N}])` : literal
  })
  return new RegExp(choices.join('|'), 'giu')
}

/** Whether the text has a word to mark. */
export const hasMark = (text: string, pattern: RegExp | undefined): boolean =>
  pattern !== undefined && text.search(pattern) !== -1

/** A text with its words marked. */
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
