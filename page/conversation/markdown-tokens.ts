import { Lexer } from 'marked'
import type { Token } from 'marked'

/** Maximum length of a text. A longer text is shown unformatted, because parsing it would block the page. */
const MAX_TEXT_CHARACTERS = 100_000
/**
 * Maximum length of a block. In a longer block, marks are shown as text, because some parser rules take quadratic time.
 */
const MAX_BLOCK_CHARACTERS = 3_000
/** Matches a line with 50 nested quotes and lists. Each level would be a nested function call of the parser. */
const NESTED = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){50}/m
/**
 * Maximum number of quoted lines. A text with more is shown unformatted. For each quoted line, the parser may parse all
 * later lines again.
 */
const MAX_QUOTED_LINES = 1_000
const QUOTED = /^[ \t]*>/gm

/**
 * Returns the tokens of a Markdown text; undefined if it must be shown unformatted. Takes little time for any text.
 */
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
    return undefined // The caller shows the text unformatted.
  }
}
