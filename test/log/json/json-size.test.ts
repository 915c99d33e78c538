/* Evidence, limits: A hostile JSON body blocks the event loop for about 0.1 s. Normal bodies of 4 MB are accepted. */
import { expect, test } from 'vitest'
import { jsonFault, jsonSize, MAX_JSON_VALUES } from '../../../functions/log/json/json-size.ts'
import { fc } from '../../generators/seeded.ts'

const itemsOf = (value: unknown): unknown[] => (typeof value === 'object' && value !== null ? Object.values(value) : [])
const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...itemsOf(value).map(depth)) : 0
const count = (value: unknown): number => 1 + itemsOf(value).reduce((sum: number, one) => sum + count(one), 0)

/** Texts of characters that a simple parser mistakes for the end of a string, or for a bracket. */
const tricky = fc.array(fc.constantFrom('"', '\\', '\\\\', '[', '{', '}', ']', ',', ':', 'a', '\n'), { maxLength: 12 })
const text = fc.oneof(
  tricky.map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary' }),
)

test('the depth and the number of values are those of the parsed value, whatever its strings contain', () => {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, text, fc.double(), fc.array(tie('value')), fc.dictionary(text, tie('value'))),
  }))
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2, '\t'), (one, space) => {
      expect(jsonSize(JSON.stringify(one, undefined, space))).toEqual({ depth: depth(one), values: count(one) })
    }),
  )
})

test.each([
  ['[[["', 3],
  ['{"a\\', 1],
  ['"\\"[[', 0],
  ['', 0],
])('an incomplete text has a depth: %s', (broken, expected) => {
  expect(jsonSize(broken).depth).toBe(expected)
})

test('a text at the limits of depth and values is accepted; a text beyond these limits is rejected', () => {
  const list = (values: number): string => JSON.stringify(Array.from({ length: values - 1 }, () => 0))
  expect(jsonFault(list(MAX_JSON_VALUES))).toBeUndefined()
  expect(jsonFault(list(MAX_JSON_VALUES + 1))).toBe('has more than 100,000 values')
  expect(jsonFault('['.repeat(64) + ']'.repeat(64))).toBeUndefined()
  expect(jsonFault('['.repeat(65) + ']'.repeat(65))).toBe('is nested more than 64 deep')
})
