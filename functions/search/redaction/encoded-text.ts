import type { Range } from './private-keys.ts'

/**
 * Matches base64 of at least 28 characters, also over several lines. A shorter section cannot hold a secret that is
 * recognizable. The number of lines is limited, and the `u` flag is missing. Otherwise, texts of megabytes would overflow
 * the stack.
 */
const BASE64 = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{60,80}\r?\n){0,500}[A-Za-z0-9+/_-]{28}[A-Za-z0-9+/_-]*={0,2}/g
/**
 * Whether decoded bytes are text. In numbers, keys and images, one of the first twelve bytes is not a text character.
 */
const IS_TEXT = /^[\t\n\r -~]{12}/u
/** Separates decoded texts, so that no secret matches across two texts. */
const BETWEEN = '\n"\n'

interface Decoded {
  readonly range: Range
  /** The decoded text, in Latin-1. */
  readonly meant: string
}

/** Returns the base64 sections of a text that decode to text. */
export function decodedIn(text: string): Decoded[] {
  return Array.from(text.matchAll(BASE64), ({ 0: code, index }): Decoded => ({
    range: [index, index + code.length],
    meant: Buffer.from(code, 'base64').toString('latin1'),
  })).filter(({ meant }) => IS_TEXT.test(meant))
}

/**
 * Returns the ranges of base64 sections in whose decoded text `find` has matches. All sections are searched in one
 * call, because each call has a fixed cost.
 */
export async function holding(
  text: string,
  find: (meant: string) => Promise<readonly { readonly range: Range }[]>,
): Promise<Range[]> {
  const decoded = decodedIn(text)
  if (decoded.length === 0) return []
  const found = await find(decoded.map(({ meant }) => meant).join(BETWEEN))
  let start = 0
  return decoded
    .filter(({ meant }) => {
      const [from, to] = [start, start + meant.length]
      start = to + BETWEEN.length
      return found.some(({ range }) => range[0] < to && range[1] > from)
    })
    .map(({ range }) => range)
}
