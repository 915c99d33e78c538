import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { keyGoesOnTo, MAX_SECRET_CHARACTERS, type Range } from './private-keys.ts'
import { findEscaped, mayHide } from './secrets.ts'

/** What stands in the index for a secret; for a shorter one as many stars, so that no text grows. */
const REDACTED = '[redacted]'

/**
 * Characters (UTF-16 units) that the rules read at a time, and of them those that they have read before. The rules' time grows
 * with the square of the secrets in a text, which may come from a stranger's page.
 */
const WINDOW = 40_000
const OVERLAP = MAX_SECRET_CHARACTERS
/** Characters read, at the most, to look for secrets that stand elsewhere, too. */
const READ_FOR_OTHERS = 100_000_000
/** Characters of a text that are kept while secrets are looked for; a longer one is read a second time. */
const KEPT = 2_000_000

/** The text with every secret that secretlint's recommended rules recognise, and every other that `findEscaped` knows, replaced by `[redacted]`. */
export async function redactSecrets(text: string): Promise<string> {
  if (!mayHide(text)) return text
  let redacted = ''
  for await (const piece of redactPieces(() => [text])) redacted += piece
  return redacted
}

type Pieces = AsyncIterable<string> | Iterable<string>

/**
 * The same for a text of any length, of which little is in memory: `open` reads it from its beginning, once to find the secrets
 * in it and once more to take them out wherever they stand.
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
    // A long key began before this place, and stands for one mark.
    if (continues) found.push([place - 1, start + keyGoesOnTo(text, place - start)])
    const ranges = [...(await findEscaped(text)).map(({ range }) => range), ...occurrences(text, secrets)]
    found.push(...ranges.map(([from, to]): Range => [start + from, start + to]))
    // What begins later is found whole in the next window.
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
  /** Where it begins in the whole text. */
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

/** The secrets of a text, as many as are looked for elsewhere, too; and the text itself where it is short. */
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
