import { expect, test } from 'vitest'
import { createWordTable } from '../../../functions/search/tokens/word-table.ts'

const LONG = 'x'.repeat(30)
const TEXTS = ['abc', 'abd', 'bca', `${LONG}a`, `${LONG}b`, 'café', 'cafe', '\u{20000}', 'a'.repeat(64), 'a'.repeat(63)]

test('equal words share one value, and different words have different values', () => {
  const { word } = createWordTable()
  const first = TEXTS.map((text) => word(text, true))
  expect(first.map(({ text }) => text)).toEqual(TEXTS)
  expect(new Set(first).size).toBe(TEXTS.length)
  for (const [place, text] of TEXTS.entries()) expect(word(`-${text}`.slice(1), false)).toBe(first[place])
})

test('equal words share one value even if there are more words than the cache contains', () => {
  const { word } = createWordTable()
  for (let part = 0; part < 40; part++) {
    const texts = Array.from({ length: 10_000 }, (_, number) => `w${(part * 10_000 + number).toString(36)}`)
    const made = texts.map((text) => word(text, true))
    expect(made.every(({ text }, place) => text === texts[place])).toBe(true)
    expect(texts.every((text, place) => word(text, true) === made[place])).toBe(true)
  }
})
