import { expect, test } from 'vitest'
import { logError, logFields, logText } from '../../functions/runtime/log-text.ts'
import { drawn } from '../fixtures/png.ts'

const data = drawn('a').toString('base64')

test('a log line holds no bytes of files, wherever they stand, and other texts as they are', () => {
  expect(logText(`refused: {"url":"data:image/png;base64,${data}"}`)).toBe(
    `refused: {"url":"data:image/png;base64,[${data.length} characters of base64]"}`,
  )
  const said = { body: { url: 'http://localhost:1/v1', parts: [{ data }] }, status: 400, none: null }
  expect(logFields({ said, absent: undefined })).toEqual({
    said: {
      ...said,
      body: { url: 'http://localhost:1/v1', parts: [{ data: `[${data.length} characters of base64]` }] },
    },
    absent: undefined,
  })
  expect(logError(new Error(`no: ${data}`))).toMatch(/^Error: no: \[\d+ characters of base64\]\n {4}at /)
  expect(logError('no')).toBe('no')
})

test('a log line has a bounded length', () => {
  expect(logText('a b '.repeat(1_000_000))).toBe(`${'a b '.repeat(2_000)} … [4000000 characters]`)
  expect(logText('a b '.repeat(2_000))).toBe('a b '.repeat(2_000))
})
