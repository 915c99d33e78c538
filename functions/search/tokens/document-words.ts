import type { HistoryDocument } from '../../domain/history.ts'
import { IN_WORD, JOINER, KINDS, SYMBOL } from './ascii-runs.ts'
import { fold, isAscii } from './fold-text.ts'
import { createKnownRuns, isPlain, type KnownRuns, type Place, type Source } from './known-runs.ts'
import type { Run } from './runs.ts'
import { EMOJI, RUN, SYMBOL as SYMBOLS, symbolToken } from './tokens.ts'
import type { Word } from './word-table.ts'

/**
 * The tokens of a document as text: for each field, its tokens joined by spaces. `runs`: the runs from which the
 * tokens were made; a repeated run is listed once.
 */
export interface DocumentWords {
  readonly tool: string
  readonly call: string
  readonly body: string
  readonly extra: string
  readonly runs: readonly Run[]
}

/** The fields of a document that are read. */
export type Readable = Pick<HistoryDocument, 'role' | 'toolName' | 'call' | 'text'>

/**
 * Reads the tokens of documents one after another. The tokens equal those of `document-tokens.ts`, but reading them
 * takes only a fraction of the time.
 */
export interface DocumentReader {
  read(document: Readable): DocumentWords
  /** Returns the word object that the documents' runs share. */
  word(text: string): Word
}

const HASH_START = 0x811c9dc5
const HASH_PRIME = 0x01000193
const SPACE = 0x20
/** Initial size of the buffers, in bytes. */
const BUFFER = 16_384

const SYMBOL_TOKENS = Array.from({ length: 128 }, (_, code) => symbolToken(String.fromCharCode(code)))

/** Creates a reader. It remembers runs that it has read. Its memory, some 20 MB, is allocated for the first document. */
export function createDocumentReader(): DocumentReader {
  let reading: Reading | undefined
  const opened = (): Reading => (reading ??= createReading())
  return {
    word: (text) => opened().known.word(text),
    read: (document) => readDocument(opened(), document),
  }
}

const createReading = (): Reading => ({
  known: createKnownRuns(),
  place: { start: 0, end: 0, hash: 0, plain: false, repeated: false },
  input: Buffer.alloc(BUFFER),
  output: Buffer.alloc(BUFFER),
  seen: new Uint8Array(128),
  symbols: new Set(),
  runs: [],
  extra: new Set(),
})

function readDocument(reading: Reading, { role, toolName, call, text }: Readable): DocumentWords {
  reading.known.begin()
  reading.runs = []
  reading.extra = new Set()
  const ofTool = toolName === undefined ? '' : readField(reading, toolName)
  const ofCall = call === undefined ? '' : readField(reading, role === 'tool_call' ? text : call)
  const ofBody = role === 'tool_call' ? '' : readField(reading, text)
  const { runs, extra } = reading
  return { tool: ofTool, call: ofCall, body: ofBody, extra: [...extra].join(' '), runs }
}

/** The state for the current document, and the memory that later documents reuse. */
interface Reading {
  readonly known: KnownRuns
  readonly place: Place
  input: Buffer
  output: Buffer
  /** The symbols of the current field. `seen` marks the ASCII symbols among them. */
  symbols: Set<string>
  readonly seen: Uint8Array
  /** The runs and alternative tokens of the current document. */
  runs: Run[]
  extra: Set<string>
}

function readField(reading: Reading, text: string): string {
  reading.symbols = new Set()
  reading.seen.fill(0)
  const folded = fold(text)
  const words = isAscii(folded) ? readAscii(reading, folded) : readMixed(reading, folded)
  for (const symbol of reading.symbols) reading.extra.add(symbol)
  return words
}

/** Returns the words of an ASCII text. */
function readAscii(reading: Reading, text: string): string {
  if (reading.input.length < text.length) reading.input = Buffer.alloc(text.length * 2)
  // The output may be longer than the input, because each word is followed by a space, and long words are split.
  if (reading.output.length < reading.input.length * 2) reading.output = Buffer.alloc(reading.input.length * 2)
  const { input, output } = reading
  input.write(text, 'latin1')
  return output.toString('latin1', 0, readBytes(reading, { text, bytes: input }, output))
}

/** Writes the words of a text to `to`. Returns the number of bytes written. */
function readBytes(reading: Reading, source: Source, to: Buffer): number {
  const { bytes: from } = source
  const { length } = source.text
  const { known, place } = reading
  let written = 0
  for (let at = 0; at < length;) {
    const kind = KINDS[from[at] ?? 0] ?? 0
    if ((kind & IN_WORD) === 0) {
      if ((kind & SYMBOL) !== 0) noteSymbol(reading, from[at] ?? 0)
      at++
      continue
    }
    let end = at
    let kinds = 0
    let joiner = 0
    let hash = HASH_START
    let hashed = HASH_START
    for (let next = at; next < length; next++) {
      const code = from[next] ?? 0
      const other = KINDS[code] ?? 0
      if ((other & (IN_WORD | JOINER)) === 0) break
      hashed = Math.imul(hashed ^ code, HASH_PRIME)
      if ((other & IN_WORD) === 0) {
        joiner = JOINER
        continue
      }
      end = next + 1
      kinds |= other | joiner
      joiner = 0
      hash = hashed
    }
    place.start = at
    place.end = end
    place.hash = hash ^ (hash >>> 15)
    place.plain = isPlain(kinds, end - at)
    const run = known.find(source, place)
    if (written > 0) to[written++] = SPACE
    if (!place.repeated) note(reading, run, place.plain)
    if (place.plain || run.text === run.words)
      for (let copied = at; copied < end; copied++) to[written++] = from[copied] ?? 0
    else written += to.write(run.words, written, 'latin1')
    for (let inside = at; (kinds & JOINER) !== 0 && inside < end; inside++) {
      const code = from[inside] ?? 0
      if (((KINDS[code] ?? 0) & SYMBOL) !== 0) noteSymbol(reading, code)
    }
    at = end
  }
  return written
}

/**
 * Returns the words of a text with non-ASCII characters. A section between spaces is read as a whole if it contains
 * such characters.
 */
function readMixed(reading: Reading, text: string): string {
  const words: string[] = []
  const emoji: string[] = []
  for (const { part, ascii } of partsOf(text)) {
    if (ascii) {
      words.push(readAscii(reading, part))
      continue
    }
    for (const [run] of part.matchAll(RUN)) {
      const found = reading.known.read(run)
      note(reading, found, false)
      words.push(found.words)
    }
    for (const [symbol] of part.matchAll(SYMBOLS))
      if (EMOJI.test(symbol)) emoji.push(symbolToken(symbol))
      else reading.symbols.add(symbolToken(symbol))
  }
  return [...words, ...emoji].filter((word) => word !== '').join(' ')
}

/** Adds a run to the document. A plain run has no alternative tokens. */
function note({ runs, extra }: Reading, run: Run, plain: boolean): void {
  runs.push(run)
  if (!plain) for (const name of run.extra) extra.add(name)
}

function noteSymbol({ seen, symbols }: Reading, code: number): void {
  if (seen[code] === 1) return
  seen[code] = 1
  symbols.add(SYMBOL_TOKENS[code] ?? '')
}

/**
 * Splits a text into ASCII parts and sections with other characters. A section ends at spaces or control characters.
 */
function* partsOf(text: string): Generator<{ readonly part: string; readonly ascii: boolean }> {
  let start = 0
  let word = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= SPACE) word = at
    if (code < 0x80) continue
    if (word > start) yield { part: text.slice(start, word), ascii: true }
    let end = at + 1
    while (end < text.length && text.charCodeAt(end) > SPACE) end++
    yield { part: text.slice(Math.max(start, word), end), ascii: false }
    ;[start, word, at] = [end, end, end - 1]
  }
  if (start < text.length) yield { part: text.slice(start), ascii: true }
}
