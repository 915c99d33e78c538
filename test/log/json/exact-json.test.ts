/* Evidence, replay: Numbers keep their spelling in every wire format, and in lists, exports, copies, chats and search. */
import { expect, test } from 'vitest'
import { fc } from '../../generators/seeded.ts'
import { isExactNumber, type Json } from '../../../functions/domain/json.ts'
import {
  hasExactNumbers,
  readJson,
  withFoldedNumbers,
  withPlainNumbers,
} from '../../../functions/log/json/exact-json.ts'
import { compactJson } from '../../../functions/log/json/json-spans.ts'
import { jsonText, numberText } from '../../generators/json-text.ts'

const written = (text: string): string => JSON.stringify(readJson(text))

test.each([
  '10.00',
  '9007199254740993',
  '-0',
  '1e3',
  '1E+3',
  '1e400',
  '0.10',
  '0.0000001',
  '0.1000000000000000055',
  '1e-7',
])('%s keeps its spelling', (number) => {
  expect(written(`{"a":[${number},"${number}"]}`)).toBe(`{"a":[${number},"${number}"]}`)
  expect(hasExactNumbers(`[${number}]`)).toBe(String(Number(number)) !== number)
})

test('a number that JavaScript spells identically is read as a plain number', () => {
  const text = '[0,-1,1.5,9007199254740991,1e+21,1e-7,123456789012345]'
  expect(readJson(text)).toEqual(JSON.parse(text))
  expect(hasExactNumbers(text)).toBe(false)
})

test('exact numbers are read at any depth', () => {
  const depth = 20_000
  const value = readJson(`${'['.repeat(depth)}10.00${']'.repeat(depth)}`)
  let inner = value
  while (Array.isArray(inner)) inner = inner[0] as unknown
  expect(isExactNumber(inner)).toBe(true)
})

test('reading and writing any JSON text keeps the spelling of its numbers', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      // `jsonText` excludes duplicate names, and names like array indexes: JavaScript would change their order.
      expect(written(text)).toBe(compactJson(text, { from: 0, to: text.length }))
    }),
  )
})

test('a text is rejected only if JSON.parse rejects it; otherwise both return equal values', () => {
  const pieces = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '\\',
      '-',
      '.',
      'e',
      '0',
      '1.0',
      '10.00',
      'null',
      ' ',
      '\uE000number:1',
    ],
  )
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 8 }).map((all) => all.join('')),
      (text) => {
        const read = (parse: (text: string) => unknown): unknown => {
          try {
            return withPlainNumbers(parse(text))
          } catch (error) {
            return (error as Error).name
          }
        }
        expect(read(readJson)).toEqual(read(JSON.parse))
      },
    ),
    { numRuns: 2_000 },
  )
  for (const text of ['{10.00:1}', '[1.0.0]', '[1-2.0]', '[01.0]', '[1.]', '1.0 2.0', '{"a":1.0,}'])
    expect(() => readJson(text), text).toThrow(SyntaxError)
})

test('texts that look like the internal number marker stay texts', () => {
  for (const text of ['{"\uE000number:1":"\uE000number:2","n":3.0}', String.raw`["\ue000number:2",3.0]`])
    expect(written(text)).toBe(JSON.stringify(JSON.parse(text)).replace(/3(?=[}\]]$)/u, '3.0'))
  expect(written('{"__proto__":1.0,"a":{"__proto__":{"b":2.0}}}')).toBe('{"__proto__":1.0,"a":{"__proto__":{"b":2.0}}}')
})

test('conversion to plain numbers gives the values of JSON.parse', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      expect(withPlainNumbers(readJson(text))).toEqual(JSON.parse(text))
    }),
  )
})

test('two numbers have equal folded forms exactly if their values are equal', () => {
  const fold = (text: string): string => JSON.stringify(withFoldedNumbers(readJson(text) as Json))
  expect(fold('[10.00,1e1,10,0.10e2]')).toBe('[10,10,10,10]')
  expect(fold('9007199254740993')).not.toBe(fold('9007199254740992'))
  expect(fold('9007199254740993.0')).toBe(fold('9007199254740993'))
  expect(fold('-0.0')).toBe(fold('0'))
  const zeros = fc.tuple(fc.nat({ max: 4 }), fc.boolean())
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      zeros,
      (left, right, [count, isExponent]) => {
        const spelled = isExponent ? `${left}${'0'.repeat(count)}e-${count}` : `${left}.${'0'.repeat(count + 1)}`
        expect(fold(spelled)).toBe(fold(String(left)))
        expect(fold(String(left)) === fold(String(right))).toBe(left === right)
      },
    ),
  )
})

test('a copy of an exact number is not an exact number', () => {
  fc.assert(
    fc.property(numberText, (text) => {
      const value = readJson(`[${text}]`) as readonly unknown[]
      expect(isExactNumber(value[0])).toBe(typeof value[0] !== 'number')
      expect(isExactNumber({ ...(value[0] as object) })).toBe(false)
    }),
  )
})
