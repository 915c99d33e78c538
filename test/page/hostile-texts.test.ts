/* Evidence, page: The page shows hostile texts of models, tools and people as plain text. */
import { expect, test } from 'vitest'
import { tokensOf } from '../../page/conversation/markdown-tokens.ts'
import { withBidiShown } from '../../page/text/bidi.ts'
import { parseValue } from '../../page/tools/parse-value.ts'
import { processorTime } from '../processor-time.ts'

/** A text of `characters` characters. */
const filled = (piece: string, characters = 100_000): string =>
  piece.repeat(Math.ceil(characters / piece.length)).slice(0, characters)

test.each([
  'a.',
  '*a',
  '_a',
  'a_',
  '[a',
  '![[',
  '`a``',
  '> ',
  '>',
  '1. ',
  '> - ',
  '- ',
  '<a ',
  '**a**',
  '|a',
  '> a\n>> b\n',
])('a long text of only %j is parsed quickly and without failing', (piece) => {
  const before = processorTime()
  tokensOf(`${filled(piece, 99_999)}@`)
  // Without the limits, this takes seconds or minutes, or overflows the stack.
  expect(processorTime() - before).toBeLessThan(3_000)
})

test('deeply nested quotations are shown as text, and a rule of many dashes stays a rule', () => {
  expect(tokensOf(`${'> '.repeat(1_000)}deep`)).toBeUndefined()
  expect(tokensOf(`${'>'.repeat(2_500)} deep`)).toBeUndefined()
  expect(tokensOf(`${'> '.repeat(5)}deep`)?.[0]).toMatchObject({ type: 'blockquote' })
  expect(tokensOf(`above\n\n${'-'.repeat(500)}`)?.at(-1)).toMatchObject({ type: 'hr' })
})

test('formatting marks in a long block are shown as text; shorter blocks keep their formatting', () => {
  const [long, , short] = tokensOf(`${filled('*a* ', 5_000)}\n\n*b*`) ?? []
  expect(long).toMatchObject({ type: 'paragraph', tokens: [{ type: 'text' }] })
  expect(short).toMatchObject({ type: 'paragraph', tokens: [{ type: 'em' }] })
})

test('JSON nested deeper than the tree view allows is shown as text', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  expect(parseValue(nested(40))).toBeDefined()
  for (const depth of [1_200, 3_000, 400_000]) expect(parseValue(nested(depth))).toBeUndefined()
})

test('numbers in JSON keep their spelling', () => {
  const text = '{"to":1234567890123456789,"amount":0.10,"many":1e400,"few":[3,-1.5]}'
  expect(JSON.stringify(parseValue(text))).toBe(text)
})

test('characters that change the text direction are shown as JSON escapes', () => {
  expect(withBidiShown('invoice\u202Egnp.exe\u2069')).toBe('invoice\\u202egnp.exe\\u2069')
})
