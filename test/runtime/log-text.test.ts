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

test.each([
  [
    'Incorrect API key provided: sk-live-0123456789abcdef01 (see the docs)',
    'Incorrect API key provided: [redacted] (see the docs)',
  ],
  ['at https://ada:0penSesame@search.example.org/x', 'at https://[redacted]@search.example.org/x'],
  [`refused glpat-${'aB3dE6gH9j'.repeat(2)}`, 'refused [redacted]'],
  [`no ABSK${'aB3/E6g+9j'.repeat(12)}== here`, 'no [redacted] here'],
  ['no key tt_abcdefghijklmnopqrstuvwxyz0123456789_-ABCDE here', 'no key [redacted] here'],
  ['{"authorization":"Bearer 0f9e8d7c6b5a4f3e2d1c"}', '{"authorization":"Bearer [redacted]"}'],
  [String.raw`{\"api_key\":\"own-key-of-ours-17\"}`, String.raw`{\"api_key\":\"[redacted]\"}`],
])('a log line shows no key that an error quotes: %s', (said, shown) => {
  expect(logText(said)).toBe(shown)
  expect(logError(new Error(said))).toContain(shown)
})

test('a log line shows words about keys, counts of tokens and ids', () => {
  for (const text of [
    'skip_all_of_the_following_things',
    'the token expired: api key not configured',
    'at most 8192 tokens, token limit-of-requests 400',
    'task-0123456789abcdef0123 and 01J0000000000000000000000A',
  ])
    expect(logText(text)).toBe(text)
})
