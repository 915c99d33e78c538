import type { Range } from './private-keys.ts'

/**
 * Base64, also in lines: of 28 characters and more, for no shorter text says that it is a secret. With a count that has no end, or
 * for Unicode, it would run out of stack in megabytes.
 */
const BASE64 = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{60,80}\r?\n){0,500}[A-Za-z0-9+/_-]{28}[A-Za-z0-9+/_-]*={0,2}/g
/** How a text begins that was encoded: numbers, keys and images have other bytes in the first twelve. */
const IS_TEXT = /^[\t\n\r -~]{12}/u
/** No secret goes on behind it. */
const BETWEEN = '\n"\n'

interface Decoded {
  readonly range: Range
  /** In Latin-1. */
  readonly meant: string
}

/** Texts that stand in base64. */
export function decodedIn(text: string): Decoded[] {
  return Array.from(text.matchAll(BASE64), ({ 0: code, index }): Decoded => ({
    range: [index, index + code.length],
    meant: Buffer.from(code, 'base64').toString('latin1'),
  })).filter(({ meant }) => IS_TEXT.test(meant))
}

/** Where base64 stands of texts in which `find` finds something. They are read together, for each reading takes its time. */
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
