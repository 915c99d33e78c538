import { expect, test } from 'vitest'
import { createPieceJoiner, jsonText, wellFormed, wellFormedJson } from '../../../functions/log/json/well-formed.ts'
import { fc } from '../../generators/seeded.ts'

const BACKSLASH = '\\'
const unit = fc.constantFrom('a', '"', BACKSLASH, '\n', 'é', '😀', '\ud83d', '\udd25', '\udbff', '\udc00')
const text = fc.array(unit, { maxLength: 8 }).map((units) => units.join(''))
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom(null, 1.5, true),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(text, tie('any'), { maxKeys: 3 }),
  ),
})).any

/** JSON as models write it: plain characters, escapes in upper and lower case, and incomplete escapes. */
const escape = fc.constantFrom(
  '\\ud83d',
  '\\uD83D',
  '\\udd25',
  '\\uDD25',
  '\\u00e9',
  '\\\\',
  '\\"',
  '\\',
  '\\u',
  '\\ud8',
  'ud83d',
)
const json = fc.array(fc.oneof(escape, unit), { maxLength: 10 }).map((units) => units.join(''))

function hasHalf(parsed: unknown): boolean {
  if (typeof parsed === 'string') return !parsed.isWellFormed()
  if (Array.isArray(parsed)) return parsed.some(hasHalf)
  if (typeof parsed !== 'object' || parsed === null) return false
  return Object.entries(parsed).some(([name, field]) => !name.isWellFormed() || hasHalf(field))
}

test('the JSON of any value has no unpaired surrogates, and is otherwise unchanged', () => {
  fc.assert(
    fc.property(value, (any) => {
      const parsed: unknown = JSON.parse(jsonText(any))
      expect(hasHalf(parsed)).toBe(false)
      expect(parsed).toEqual(wellFormed(any))
      if (!hasHalf(any)) expect(jsonText(any)).toBe(JSON.stringify(any))
    }),
  )
})

test('a well-formed value is returned as the identical object, and bytes stay bytes', () => {
  const whole = { a: ['x', { b: '😀' }], bytes: Buffer.from([0xd8, 0x3d]) }
  expect(wellFormed(whole)).toBe(whole)
  expect(wellFormed({ half: '\ud83d', bytes: whole.bytes }).bytes).toBe(whole.bytes)
})

test('an escaped backslash before letters that look like a surrogate stays unchanged', () => {
  expect(wellFormedJson(String.raw`{"a":"\\ud83d"}`)).toBe(String.raw`{"a":"\\ud83d"}`)
  expect(wellFormedJson(String.raw`{"a":"\\\ud83d"}`)).toBe(String.raw`{"a":"\\\ufffd"}`)
  expect(wellFormedJson(String.raw`{"a":"\ud83d\udd25\udd25"}`)).toBe(String.raw`{"a":"\ud83d\udd25\ufffd"}`)
})

/** Splits the text into chunks of these lengths; the last chunk is the rest of the text. */
function split(whole: string, lengths: readonly number[]): string[] {
  const pieces: string[] = []
  let at = 0
  for (const length of lengths) pieces.push(whole.slice(at, (at += length)))
  return [...pieces, whole.slice(at)]
}

const lengths = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 })

test('chunks of a text contain whole characters, wherever the text is split', () => {
  fc.assert(
    fc.property(text, lengths, (whole, sizes) => {
      const joiner = createPieceJoiner({ isJson: false })
      const shown = [...split(whole, sizes).map((piece) => joiner.take(piece)), joiner.end()]
      for (const piece of shown) expect(piece.isWellFormed()).toBe(true)
      expect(shown.join('')).toBe(whole.toWellFormed())
    }),
    { numRuns: 500 },
  )
})

test('chunks of arguments contain whole characters and escapes, wherever the arguments are split', () => {
  fc.assert(
    fc.property(json, lengths, (whole, sizes) => {
      const joiner = createPieceJoiner({ isJson: true })
      const shown = [...split(whole, sizes).map((piece) => joiner.take(piece)), joiner.end()]
      for (const piece of shown) expect(wellFormedJson(piece)).toBe(piece)
      expect(shown.join('')).toBe(wellFormedJson(whole))
    }),
    { numRuns: 1_000 },
  )
})
