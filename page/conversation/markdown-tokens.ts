import { Lexer } from 'marked'
import type { Token } from 'marked'

/** Longer texts are shown as they are: parsing them would hold up the page. */
const MAX_TEXT_CHARACTERS = 100_000
/** In longer blocks marks are shown as they are: some of their rules take time by the square of the length. */
const MAX_BLOCK_CHARACTERS = 3_000
/** A line of so many quotes and lists in each other: each costs a call within a call. */
const NESTED = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){50}/m
/** With more quoted lines, a text is shown as it is: each may be read anew with all that follow it. */
const MAX_QUOTED_LINES = 1_000
const QUOTED = /^[ \t]*>/gm

/** The tokens of a Markdown text; undefined if it is to be shown as it is. Takes little time, whatever the text is. */
export function tokensOf(text: string): Token[] | undefined {
  if (text.length > MAX_TEXT_CHARACTERS || NESTED.test(text)) return undefined
  if ((text.match(QUOTED)?.length ?? 0) > MAX_QUOTED_LINES) return undefined
  try {
    const lexer = new Lexer()
    lexer.blockTokens(text.replaceAll(/\r\n?/g, '\n'), lexer.tokens)
    for (const { src, tokens } of lexer.inlineQueue)
      if (src.length > MAX_BLOCK_CHARACTERS) tokens.push({ type: 'text', raw: src, text: src })
      else lexer.inlineTokens(src, tokens)
    return lexer.tokens
  } catch {
    return undefined // The text itself says all.
  }
}
