import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { findKeyEnd, MAX_SECRET_CHARACTERS, type Range } from './private-keys.ts'
import { findEscaped, mayHide } from './secrets.ts'

/**
 * Replaces a secret in the index. A secret that is shorter than this text is replaced by stars of its length, so that
 * no text grows.
 */
const REDACTED = '[redacted]'

/**
 * `WINDOW`: characters (UTF-16 units) that are checked at a time. `OVERLAP`: characters that two windows share. The
 * rules' time grows quadratically with the number of secrets, and a hostile page may contain many.
 */
const WINDOW = 40_000
const OVERLAP = MAX_SECRET_CHARACTERS
/**
 * Limit of the work to find all occurrences of known secrets. The work is the text's length, in characters, times the
 * number of secrets.
 */
const READ_FOR_OTHERS = 100_000_000
/** Maximum characters of a text that are kept in memory while secrets are searched; a longer text is read twice. */
const KEPT = 2_000_000

/**
 * Replaces every secret in a text by `[redacted]`. It finds the secrets of secretlint's recommended rules, and further
 * ones through `findEscaped`.
 */
export async function redactSecrets(text: string): Promise<string> {
  if (!mayHide(text)) return text
  let redacted = ''
  for await (const piece of redactPieces(() => [text])) redacted += piece
  return redacted
}

type Pieces = AsyncIterable<string> | Iterable<string>

/**
 * Redacts a text of any length with bounded memory. `open` returns the text from its beginning. `open` is called once
 * to find the secrets. For a long text, it is called once more to remove all occurrences of the secrets.
 */
export async function* redactPieces(open: () => Pieces): AsyncGenerator<string> {
  const { secrets, kept } = await findAll(open())
  const pieces = kept ?? open()
  if (secrets.length === 0) {
    yield* pieces
    return
  }
  let place = 0
  let found: Range[] = []
  let continues = false
  for await (const { text, start, last } of windows(pieces)) {
    // A private key began before this window. The mark that replaces the key's beginning also replaces its rest.
    if (continues) found.push([place - 1, start + findKeyEnd(text, place - start)])
    const ranges = [...(await findEscaped(text)).map(({ range }) => range), ...occurrences(text, secrets)]
    found.push(...ranges.map(([from, to]): Range => [start + from, start + to]))
    // A secret that begins after this position is complete in the next window.
    const end = last ? start + text.length : start + WINDOW - OVERLAP
    let piece = ''
    for (const [from, to] of found.toSorted((left, right) => left[0] - right[0])) {
      if (from >= end || to <= place) continue
      piece += text.slice(place - start, Math.max(place, from) - start) + (from >= place ? mask(to - from) : '')
      place = to
    }
    yield piece + text.slice(place - start, Math.max(place, end) - start)
    place = Math.max(place, end)
    continues = place === start + text.length
    found = found.filter(([from]) => from >= end)
  }
}

const mask = (length: number): string => (length < REDACTED.length ? '*'.repeat(length) : REDACTED)

interface Window {
  readonly text: string
  /** Start of the window in the whole text. */
  readonly start: number
  readonly last: boolean
}

async function* windows(pieces: Pieces): AsyncGenerator<Window> {
  let start = 0
  let rest = ''
  for await (const piece of pieces)
    for (rest += piece; rest.length > WINDOW; rest = rest.slice(WINDOW - OVERLAP), start += WINDOW - OVERLAP) {
      yield { text: rest.slice(0, WINDOW), start, last: false }
      await yieldToEventLoop()
    }
  yield { text: rest, start, last: true }
}

/**
 * Finds the secrets of a text. `READ_FOR_OTHERS` limits their number, because all occurrences of each secret are
 * searched. Also returns the text itself if it is short.
 */
async function findAll(pieces: Pieces): Promise<{ readonly secrets: readonly string[]; readonly kept?: string[] }> {
  const secrets = new Set<string>()
  const kept: string[] = []
  let units = 0
  async function* read(): AsyncGenerator<string> {
    for await (const piece of pieces) {
      units += piece.length
      if (units <= KEPT) kept.push(piece)
      else kept.length = 0
      yield piece
    }
  }
  for await (const { text, start } of windows(read()))
    for (const { range, secret } of await findEscaped(text))
      for (const one of [secret, text.slice(...range)])
        if (secrets.size <= READ_FOR_OTHERS / (start + text.length)) secrets.add(one)
  const wanted = [...secrets].slice(0, Math.max(1, READ_FOR_OTHERS / Math.max(1, units)))
  return { secrets: wanted, ...(units <= KEPT ? { kept } : {}) }
}

function occurrences(text: string, secrets: readonly string[]): Range[] {
  const found: Range[] = []
  for (const secret of secrets)
    for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + secret.length))
      found.push([start, start + secret.length])
  return found
}
