/** Splits a request at `separator`, but never inside braces, brackets or quotes. */
export function dividedAt(text: string, separator: RegExp): string[] {
  const pieces: string[] = []
  let start = 0
  for (const match of outside(text).matchAll(separator)) {
    pieces.push(text.slice(start, match.index))
    start = match.index + match[0].length
  }
  return [...pieces, text.slice(start)]
}

/**
 * Replaces each character of a text in braces, brackets or quotes by `x`, including the delimiters. Text after an
 * opening delimiter that is never closed is not replaced.
 */
export function outside(text: string): string {
  let shown = ''
  let from = 0
  let opened = 0
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const inside = quoted || depth > 0
    if (character === '\\' && quoted) at++
    else if (character === '"') quoted = !quoted
    else if (!quoted && /[{[]/.test(character)) depth++
    else if (!quoted && /[}\]]/.test(character)) depth = Math.max(0, depth - 1)
    if (inside === (quoted || depth > 0)) continue
    if (!inside) opened = at
    else {
      shown += text.slice(from, opened) + 'x'.repeat(at + 1 - opened)
      from = at + 1
    }
  }
  return shown + text.slice(from)
}
