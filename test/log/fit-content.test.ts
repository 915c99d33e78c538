import { fc } from '../generators/seeded.ts'
import { expect, test } from 'vitest'
import { textOf } from '../../functions/domain/messages/message.ts'
import { fitContent } from '../../functions/log/fit-content.ts'

const at = { messageId: '01M80D4KDC0000000000000000', attempt: '3' }
const limits = { offloadBytes: 100, previewChars: 10 }

test('a text within the limit is kept unchanged, whatever its characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 25 }), (text) => {
      const { parts, output, objects } = fitContent(at, { text }, limits)
      expect(textOf(parts)).toBe(text)
      expect(output.bytes).toBe(Buffer.byteLength(text))
      expect(objects).toEqual([])
    }),
  )
})

test('a truncated text has whole code points and a pointer; all its bytes are stored', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 101, maxLength: 300 }), (text) => {
      const { parts, output, objects } = fitContent(at, { text }, limits)
      const start = [...text].slice(0, 10).join('')
      expect(textOf(parts).startsWith(`${start}\n\n[Full output: output:${at.messageId}, `)).toBe(true)
      expect(Buffer.from(objects[0]?.bytes ?? []).toString()).toBe(text)
      expect(output.object).toBe(objects[0]?.name)
    }),
  )
})

test('the limit counts bytes of UTF-8, not characters', () => {
  expect(fitContent(at, { text: 'é'.repeat(50) }, limits).objects).toHaveLength(0)
  expect(fitContent(at, { text: 'é'.repeat(51) }, limits).objects).toHaveLength(1)
})

test('the pointer shows the size in readable units', () => {
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

test('two executions of one call use two object names', () => {
  const text = 'x'.repeat(101)
  const names = ['1', '2'].map((attempt) => fitContent({ ...at, attempt }, { text }, limits).objects[0]?.name)
  expect(new Set(names).size).toBe(2)
})

test('source texts and the result share one limit; a text beyond it becomes a preview with a pointer', () => {
  const sources = [
    { title: 'one', text: 'a'.repeat(60) },
    { title: 'two', url: 'https://two.example', text: 'b'.repeat(60) },
    { title: 'three', id: 'doc-3' },
  ]
  const fitted = fitContent(at, { text: 'x'.repeat(30), sources }, limits)
  expect(fitted.sources?.[0]).toEqual(sources[0])
  expect(fitted.sources?.[1]).toMatchObject({
    title: 'two',
    url: 'https://two.example',
    text: `bbbbbbbbbb\n\n[Full text: output:${at.messageId}.2, 0.1 KB, 1 lines]`,
    output: { bytes: 60, object: `${at.messageId}.3.s2` },
  })
  expect(fitted.sources?.[2]).toEqual(sources[2])
  expect(fitted.objects.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
    [`${at.messageId}.3.s2`, 'b'.repeat(60)],
  ])
})
