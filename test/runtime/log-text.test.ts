import { expect, test } from 'vitest'
import { randomBytes } from 'node:crypto'
import { KEY_PATTERNS, logError, logFields, logText } from '../../functions/runtime/log-text.ts'
import { drawn } from '../fixtures/png.ts'
import { processorTime } from '../processor-time.ts'

const data = drawn('a').toString('base64')

test('a log line omits file contents at any depth of its values, and keeps other texts', () => {
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

const JWT = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0In0', 'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c'].join('.')
/** For each pattern: a text that it finds, and the redacted text. */
const SAMPLES: { readonly [name in keyof typeof KEY_PATTERNS]: readonly [said: string, shown: string] } = {
  'name and password in an address': ['https://user:passw0rd@host/x', 'https://[redacted]@host/x'],
  signature: [
    `AWS4-HMAC-SHA256 SignedHeaders=host;x-amz-date, Signature=${'0a1b2c3d'.repeat(8)} is refused`,
    'AWS4-HMAC-SHA256 SignedHeaders=host;x-amz-date, Signature=[redacted] is refused',
  ],
  cookie: ['{"Set-Cookie":"sid=s%3Aabcdef; Path=/; HttpOnly"}', '{"Set-Cookie":"[redacted]"}'],
  'private key': [`-----BEGIN PRIVATE KEY-----\n${'aB3/'.repeat(16)}\n-----END`, '[redacted]-----END'],
  'JSON web token': [`got ${JWT}, which is old`, 'got [redacted], which is old'],
  'known beginning': [
    `SG.${'aB3dE6gH9j'.repeat(2)}aB.${'aB3dE6gH9j'.repeat(4)}aB3 is refused`,
    '[redacted] is refused',
  ],
  'header with a scheme': ['Authorization: Basic dXNlcjpwYXNzd29yZA==', 'Authorization: Basic [redacted]'],
  'behind a word for keys': ['api_key=abc.def-123456789012.', 'api_key=[redacted].'],
  'behind a name for secrets': [
    `aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/${'bPxRfiCY'}EXAMPLEKEY`,
    'aws_secret_access_key=[redacted]',
  ],
}

test.each(Object.entries(SAMPLES))('the pattern for keys finds its sample: %s', (name, [said, shown]) => {
  const pattern = new RegExp(KEY_PATTERNS[name as keyof typeof KEY_PATTERNS], 'gi')
  expect(said.replaceAll(pattern, '[redacted]')).toBe(shown)
  expect(logText(said)).toBe(shown)
})

const hex = '0a1b2c3d'.repeat(8)
const session = `IQoJb3JpZ2luX2VjEJ3/${'aB1+/'.repeat(80)}==`
test.each([
  [hex, 'https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=', '&x=1'],
  [encodeURIComponent(session), 'https://b.s3.amazonaws.com/k?X-Amz-Security-Token=', '&X-Amz-Expires=60'],
  [session, String.raw`{\"x-amz-security-token\": \"`, String.raw`\"}`],
  [`${hex.repeat(8)}`, 'https://storage.googleapis.com/b/k?X-Goog-Signature=', ''],
  [`${'aB1~-_'.repeat(20)}__`, 'https://d1.cloudfront.net/k?Expires=1&Signature=', '&Key-Pair-Id=K2'],
  [`Abc123%2Fdef456ghi789jkl012mno345pqr678stu901%3D`, 'https://a.blob.core.windows.net/c/b?sp=r&sig=', ''],
  ['0f9e8d7c6b5a4f3e2d1c', 'git clone https://', '@git.example.org/a.git'],
  ['session=abc123; theme=dark', 'cookie: ', '\nhost: example.org'],
])('a log line contains no credential: %s', (secret, before, after) => {
  expect(logText(`${before}${secret}${after}`)).toBe(`${before}[redacted]${after}`)
})

test('a log line shows no part of a token, however long, and no signing secret', () => {
  for (const token of [JWT, `${JWT.slice(0, 40)}.${'aB3d'.repeat(100)}.${'xY_z'.repeat(10)}`, 'aB+c/d.e~f0=='])
    expect(logText(`Authorization: Bearer ${token}`)).toBe('Authorization: Bearer [redacted]')
  for (let time = 0; time < 500; time++)
    expect(logText(`whsec_${randomBytes(24).toString('base64')}`)).toBe('[redacted]')
})

test.each([
  'token ',
  'token: "',
  '://a:',
  '://',
  'eyJ',
  'eyJaaaaaaaa.',
  'eyJaaaaaaaa.eyJaaaaaaaa',
  'authorization: basic ',
  'sk-',
  'secret="',
  '-----BEGIN PRIVATE KEY',
  '-----BEGIN PRIVATE KEY-----a',
  'token a',
  'cookie: a=',
  'cookie',
  '&Signature=',
  '&Signature=a1',
  'x-amz-security-token: ',
  '://a1',
  'token 1.',
  `token 1${'.'.repeat(300)}`,
  'a'.repeat(200),
  '=',
  '"',
])('a hostile text of 100,000 characters is scanned within 500 ms: %s', (piece) => {
  const timed = (length: number): number => {
    const text = piece.repeat(Math.ceil(length / piece.length))
    const before = processorTime()
    logText(text)
    return processorTime() - before
  }
  timed(10_000)
  expect(Math.min(timed(100_000), timed(100_000), timed(100_000))).toBeLessThan(500)
})

test('a log line shows sentences about keys, token counts and ids unchanged', () => {
  for (const text of [
    'skip_all_of_the_following_things',
    'the token expired: api key not configured',
    'at most 8192 tokens, token limit-of-requests 400',
    'password: at least 12 characters; a secret of 24 bytes; basic authentication',
    'Authorization: none, the secret is read from secret:arn:aws',
    'the signature that we calculated does not match; signature=functionOfTheRequest, cookie: none',
    'https://example.org/?sig=abc&page=2 of https://ada@example.org',
    'task-0123456789abcdef0123 and 01J0000000000000000000000A',
  ])
    expect(logText(text)).toBe(text)
})
