import { expect, test } from 'vitest'
import { depthOf } from '../../functions/log/json-depth.ts'
import { fc } from '../generators/seeded.ts'

const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0

/** Texts of what could be taken for the end of a string, or for a bracket. */
const tricky = fc.array(fc.constantFrom('"', '\\', '\\\\', '[', '{', '}', ']', 'a', '\n'), { maxLength: 12 })
const text = fc.oneof(
  tricky.map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary' }),
)

test('the depth of a text is that of its value, whatever its strings hold', () => {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, text, fc.array(tie('value')), fc.dictionary(text, tie('value'))),
  }))
  fc.assert(
    fc.property(value, (one) => {
      expect(depthOf(JSON.stringify(one))).toBe(depth(one))
    }),
  )
})

test.each([
  ['[[["', 3],
  ['{"a\\', 1],
  ['"\\"[[', 0],
  ['', 0],
])('a text that ends in the midst has a depth: %s', (broken, expected) => {
  expect(depthOf(broken)).toBe(expected)
})
