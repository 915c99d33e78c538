/** Matches a word, a run of capitals or digits, or a single character. */
const RUN = /[A-Z]?[a-z]+|[A-Z]+| ?\d+|[^]/gu
/** Maximum letters of a usual word; longer runs are names, hashes or base64. */
const MAX_WORD_LETTERS = 12
const EAST_ASIAN = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u

/**
 * Returns an upper bound of a text's tokens, which is right for nearly all texts. Ids, hashes, paths and rare scripts
 * need more tokens than prose. The bound is calibrated against o200k_base.
 */
export function boundTokens(text: string): number {
  let bound = 0
  for (const [run] of text.matchAll(RUN)) bound += boundOfRun(run)
  return bound
}

/** Returns the beginning of a text with at most this many tokens. If it is truncated, it ends with `…`. */
export function truncateToTokens(text: string, tokens: number): string {
  let bound = 0
  for (const { 0: run, index } of text.matchAll(RUN)) {
    bound += boundOfRun(run)
    if (bound > tokens - 1) return boundTokens(text) <= tokens ? text : `${text.slice(0, index).trimEnd()}…`
  }
  return text
}

function boundOfRun(run: string): number {
  const code = run.codePointAt(0) ?? 0
  // A space belongs to the token of the word after it. Before a number, a space is a separate token.
  if (/\d/u.test(run)) return Math.ceil(run.trimStart().length / 3) + (code === 32 ? 1 : 0)
  if (code <= 32) return code === 32 ? 0.1 : 0.5
  if (/^[A-Z]{2,}$/u.test(run)) return run.length / 2
  if (/^[A-Za-z]/u.test(run)) return run.length <= MAX_WORD_LETTERS ? 1.1 : run.length / 1.4
  if (code < 128) return 0.75
  if (code < 0x11_00) return 0.5
  if (EAST_ASIAN.test(run)) return code < 0x1_00_00 ? 0.9 : 4
  if (code < 0x20_00) return 1
  return code >= 0x1_f0_00 && code < 0x1_fb_00 ? 2.2 : 4
}
