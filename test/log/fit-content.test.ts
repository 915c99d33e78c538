import { fc } from '../generators/seeded.ts'
import { expect, test } from 'vitest'
import { textOf } from '../../functions/domain/message.ts'
import { fitContent } from '../../functions/log/fit-content.ts'

const at = { messageId: '01M80D4KDC0000000000000000', attempt: '3' }
const limits = { offloadBytes: 100, previewChars: 10 }

test('a text within the limit is kept whole, whatever is in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 25 }), (text) => {
      const { parts, output, object } = fitContent(at, { text }, limits)
      expect(textOf(parts)).toBe(text)
      expect(output.bytes).toBe(Buffer.byteLength(text))
      expect(object).toBeUndefined()
    }),
  )
})

test('a text above the limit leaves whole code points and a pointer, and its bytes go to the store', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 101, maxLength: 300 }), (text) => {
      const { parts, output, object } = fitContent(at, { text }, limits)
      const start = [...text].slice(0, 10).join('')
      expect(textOf(parts).startsWith(`${start}\n\n[Full output: output:${at.messageId}, `)).toBe(true)
      expect(Buffer.from(object?.bytes ?? []).toString()).toBe(text)
      expect(output.object).toBe(object?.name)
    }),
  )
})

test('the limit counts bytes of UTF-8, not characters', () => {
  expect(fitContent(at, { text: 'é'.repeat(50) }, limits).object).toBeUndefined()
  expect(fitContent(at, { text: 'é'.repeat(51) }, limits).object).toBeDefined()
})

test('sizes are told for people', () => {
  const text = textOf(fitContent(at, { text: 'x\n'.repeat(612_345) }, limits).parts)
  expect(text).toContain('1.2 MB, 612,345 lines]')
})

test.each([
  ['', 0],
  ['a', 1],
  ['a\n', 1],
  ['a\nb', 2],
  ['\n\n', 2],
])('%j has %i lines', (text, lines) => expect(fitContent(at, { text }, limits).output.lines).toBe(lines))

test('two executions of one call use two objects', () => {
  const text = 'x'.repeat(101)
  const names = ['1', '2'].map((attempt) => fitContent({ ...at, attempt }, { text }, limits).object?.name)
  expect(new Set(names).size).toBe(2)
})
