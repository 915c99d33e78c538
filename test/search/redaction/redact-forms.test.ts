/* Evidence, search: The index contains no secrets of clouds, webhooks and addresses, even if a text has them escaped or
 * encoded. */
/* Evidence, search: Tokens, connection strings and private keys are redacted. Hashes, code, and texts about keys stay
 * unchanged. */
/* Evidence, search: A search for secrets leaves no data in memory. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { redactSecrets } from '../../../functions/search/redaction/redact.ts'
import { processorTimeOf } from '../../processor-time.ts'

const letters = (count: number): string => 'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC'.repeat(10).slice(0, count)
const hex = (count: number): string => '0a1b2c3d4e5f6789'.repeat(10).slice(0, count)
const GITHUB = `ghp_${letters(36)}`
const word = createHash('sha256').update('a word').digest('hex').slice(0, 12)
/** Lines of a key, all different. */
const keyLines = (count: number): string[] =>
  Array.from({ length: count }, (_, line) => createHash('sha512').update(String(line)).digest('base64').slice(0, 64))

it.each([
  ["Slack's of an app", `xapp-1-A0${letters(9)}-1234567890123-${hex(64)}`],
  ["Slack's of a page", `xoxc-123456789012-123456789012-1234567890123-${hex(64)}`],
  ["Slack's cookie", `xoxd-${letters(80)}%2B%2F%3D`],
  ["Slack's that changes", `xoxe-1-${letters(140)}`],
  ['a login of Anthropic', `sk-ant-oat01-${letters(93)}AA`],
  ['a client of Google', `GOCSPX-${letters(28)}`],
  ['a login of Google', `ya29.${letters(120)}`],
  ['PyPI', `pypi-AgEIcHlwaS5vcmc${letters(100)}`],
  ['temporary AWS credentials', `IQoJb3JpZ2lu${letters(300)}/+==`],
  ['a JSON web token', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters(43)}`],
])('a token is redacted in plain text, nested JSON, other scripts and terminal colours: %s', async (_, secret) => {
  const core = secret.slice(-30, -8)
  expect(await redactSecrets(`it is ${secret} now`)).toBe('it is [redacted] now')
  expect(await redactSecrets(`f(${JSON.stringify({ [secret]: JSON.stringify({ a: secret }) })})`)).not.toContain(core)
  expect(await redactSecrets(`令牌${secret}是`)).toBe('令牌[redacted]是')
  expect(await redactSecrets(`\u001B[31m${secret}\u001B[0m`)).not.toContain(core)
})

it('a known secret is redacted between letters of other scripts, and within terminal colours', async () => {
  const secret = GITHUB
  expect(await redactSecrets(`令牌${secret}是`)).toBe('令牌[redacted]是')
  expect(await redactSecrets(`\u001B[01;31m\u001B[K${secret}\u001B[m more`)).toBe(
    '\u001B[01;31m\u001B[K[redacted] more',
  )
  const cut = `${secret.slice(0, 9)}\u001B[m\u001B[K${secret.slice(9)}`
  for (const text of [cut, JSON.stringify({ cut })]) expect(await redactSecrets(text)).not.toContain(secret.slice(9))
})

it.each([
  ['Authorization: Bearer ', letters(40), ' X'],
  ['curl -H "authorization: Basic ', 'dXNlcjpwYXNzd29yZDE=', '"'],
  ['{"x-api-key": "', letters(32), '"}'],
  ['aws configure set aws_secret_access_key ', letters(40), ' x'],
  ['<SecretAccessKey>', letters(40), '</SecretAccessKey>'],
  ['AWS_SESSION_TOKEN=', letters(200), ' x'],
  ['AccountName=a;AccountKey=', `${letters(86)}==`, ';EndpointSuffix=x'],
  ['Server=tcp:h,1433;User ID=ada;', `Password=${word}`, ';Encrypt=True'],
  ['host=db user=ada ', `password=${word}`, ' dbname=x'],
  ['jdbc:postgresql://h/db?user=ada&', `password=${word}7`, '&ssl=1'],
  ['GET https://h/x?', `access_token=${letters(20)}`, '&y=1'],
])('a secret after its field name is redacted: %s', async (before, secret, after) => {
  expect(await redactSecrets(`${word} ${before}${secret}${after}`)).toBe(`${word} ${before}[redacted]${after}`)
  const nested = JSON.stringify({ args: JSON.stringify({ text: `${before}${secret}${after}` }) })
  expect(await redactSecrets(nested)).not.toContain(secret)
})

it('a private key is redacted if it is form-encoded or lacks its beginning', async () => {
  const lines = keyLines(30)
  const whole = `-----BEGIN RSA PRIVATE KEY-----\n${lines.join('\n')}\n-----END RSA PRIVATE KEY-----`
  expect(await redactSecrets(`a=1&k=${new URLSearchParams({ whole }).toString()}&b=2`)).toBe(
    'a=1&k=whole=[redacted]&b=2',
  )
  expect(await redactSecrets(`line 20:\n${whole.slice(1_000)}\nafter`)).toMatch(
    /^line 20:\n\S{0,64}\s?\[redacted\]\nafter$/,
  )
})

it.each([0, 25_000, 29_990])(
  'a long private key at position %i is redacted, and the text around it is kept',
  async (place) => {
    const lines = keyLines(1_200)
    const text = `-----BEGIN RSA PRIVATE KEY-----\n${lines.join('\n')}\n-----END RSA PRIVATE KEY-----`
    const before = 'word '.repeat(place / 5)
    expect(await redactSecrets(`${before}${text}\nafter it`)).toBe(`${before}[redacted]\nafter it`)
    const json = await redactSecrets(JSON.stringify({ before, text, after: 'after it' }))
    expect(json).toBe(`{"before":"${before}","text":"[redacted]","after":"after it"}`)
  },
)

it('a text about private keys is unchanged', async () => {
  const text = `The file begins with -----BEGIN PRIVATE KEY----- and a line break. ${'Then more of it comes. '.repeat(600)}`
  expect(await redactSecrets(text)).toBe(text)
})

it('base64 that contains a secret is redacted, and other base64 is unchanged', async () => {
  const whole = `-----BEGIN PRIVATE KEY-----\n${keyLines(20).join('\n')}\n-----END PRIVATE KEY-----\n`
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  expect(await redactSecrets(`tls.key: ${encoded(whole)}\nx: y`)).toBe('tls.key: [redacted]\nx: y')
  expect(await redactSecrets(`a ${encoded(JSON.stringify({ token: GITHUB }))} b`)).toBe('a [redacted] b')
  const lines = encoded(whole).replaceAll(/.{76}/g, '$&\n')
  expect(await redactSecrets(JSON.stringify({ lines }))).toBe('{"lines":"[redacted]"}')
  const plain = `${encoded('nothing is hidden in this one, is it?')} ${hex(64)} sha512-${letters(86)}== ${encoded(GITHUB)}`
  expect(await redactSecrets(plain)).toBe(plain.replace(encoded(GITHUB), '[redacted]'))
})

it('8,000 base64 texts are scanned together in less than four seconds', async () => {
  const text = `${Buffer.from('AAAAAAAAAAAA token= AAAAA').toString('base64')} `.repeat(8_000)
  const time = await processorTimeOf(async () => expect(await redactSecrets(text)).toBe(text))
  expect(time).toBeLessThan(4_000)
})

it('a search for secrets leaves no performance entries in memory', async () => {
  const marks = (): number => performance.getEntries().length
  await redactSecrets(GITHUB)
  const before = marks()
  await redactSecrets(`${GITHUB} again`)
  expect(marks()).toBe(before)
})

it.each([
  'Authorization: Bearer <token>, or Bearer $TOKEN',
  "headers.set('authorization', `Bearer ${key}`)",
  'const password=config.password; host=a',
  'password=hunter; token=next',
  'https://example.org/list?token=next&key=value',
  'the tokens xoxb-… and xapp-… of an app',
  'a1b2c3d4-0000-4000-8000-0123456789ab 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
])('ordinary text is unchanged: %s', async (text) => {
  expect(await redactSecrets(text)).toBe(text)
})

it.each(['QUJD', '字QUJD', '字SG.aaaa', '字http://a:aaaa', 'eyJhbGci'])(
  'endless patterns of several megabytes are scanned without failing: %s',
  async (piece) => {
    const text = `${piece}${piece.slice(-4).repeat(4_000_000)}`
    expect((await redactSecrets(text)) === text).toBe(true)
  },
)
