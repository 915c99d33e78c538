import { describe, expect, test } from 'vitest'
import { openingOf, shortened, titleOf } from '../../functions/log/title.ts'
import { fc } from '../generators/seeded.ts'

const LETTER = /[\p{L}\p{N}]/u
const line = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(fc.constantFrom('#', '*', '_', '`', '>', '-', '1.', '[a](b)', ' ', '\t', 'word', '長い', '🎉', '\ud83d'))
    .map((all) => all.join('')),
)
const text = fc.array(line, { maxLength: 8 }).map((lines) => lines.join('\n'))

describe('the title of any input', () => {
  test('is one line of at most 80 whole characters, and has a letter or digit', () => {
    fc.assert(
      fc.property(text, (input) => {
        const title = titleOf(input)
        if (title === undefined) return
        expect(title.length).toBeLessThanOrEqual(80)
        expect(title).toMatch(LETTER)
        expect(title).not.toMatch(/[\n\r\p{Cc}]|^\s|\s$|\s\s/u)
        expect(title.isWellFormed()).toBe(true)
      }),
    )
  })

  test('exists if the input has a line of plain words', () => {
    fc.assert(
      fc.property(text, fc.string({ minLength: 1, unit: fc.constantFrom('a', 'ä', '7', '字') }), (before, words) => {
        expect(titleOf(`${before}\n${words}`)).toBeDefined()
      }),
    )
  })

  test('is the beginning of the plain line, truncated between words unless the first word is too long', () => {
    const word = fc.string({ minLength: 1, maxLength: 90, unit: fc.constantFrom('a', 'b', 'é') })
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), (words) => {
        const plain = words.join(' ')
        const title = titleOf(plain) ?? ''
        if (plain.length <= 80) {
          expect(title).toBe(plain)
          return
        }
        expect(title.endsWith('…')).toBe(true)
        const kept = title.slice(0, -1)
        expect(plain.startsWith(kept)).toBe(true)
        if ((words[0]?.length ?? 0) > 79) expect(kept).toHaveLength(79)
        else expect(plain[kept.length]).toBe(' ')
      }),
    )
  })
})

test.each([
  ['# **Hello** _world_ `code`', 'Hello world code'],
  ['> - 1. [Read](https://a.b/c_(d) "t") the ![map](m.png)', 'Read the map'],
  ['---\n***\nsnake_case and 2*3 and 2 * 3 stay', 'snake_case and 2*3 and 2 * 3 stay'],
  ['\u0000 a\u0007\tb  c ', 'a b c'],
  ['C# and #42 and a > b', 'C# and #42 and a > b'],
  ['<@U012AB>: the build is red', 'the build is red'],
  ['?!\n🎉\n', undefined],
  ['', undefined],
])('the title of %j is %j', (input, title) => {
  expect(titleOf(input)).toBe(title)
})

test('the opening of an input with an image has only the text, truncated to 4,000 characters', () => {
  const image = { type: 'image', id: 'x', mediaType: 'image/png', bytes: 1 } as const
  const opening = openingOf([image, { type: 'text', text: `Look\n${'x'.repeat(5_000)}` }])
  expect(opening?.title).toBe('Look')
  expect(opening?.text).toHaveLength(4_000)
  expect(openingOf([image])).toBeUndefined()
  expect(shortened('no room', 7)).toBe('no room')
})
