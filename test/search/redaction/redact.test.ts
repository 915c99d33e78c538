/* Evidence, search: The index contains no secrets of clouds, webhooks and addresses, even if a text has them escaped or
 * encoded. */
import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { redactSecrets } from '../../../functions/search/redaction/redact.ts'
import { findSecrets, mayHoldSecret } from '../../../functions/search/redaction/secrets.ts'
import { longestTurn } from '../../processor-time.ts'

const letters = (count: number): string => 'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC'.repeat(10).slice(0, count)
const hex = (count: number): string => '0a1b2c3d4e5f6789'.repeat(10).slice(0, count)
const key = `MIIE${letters(160)}`

/**
 * Invented secrets, one for each rule of the preset. They are concatenated from parts, so that secret scanners do not report this
 * file.
 */
const SAMPLES: { readonly [rule: string]: string } = {
  aws: `aws_secret_access_key = "${letters(40)}"`,
  npm: `npm_${letters(36)}`,
  npmrc: `//registry.example/:_authToken=${letters(20)}`,
  slack: `xoxb-${'1'.repeat(12)}-${'2'.repeat(12)}-${letters(24)}`,
  'slack app': `xapp-1-${letters(10)}-${letters(12)}`,
  'slack webhook': `https://hooks.slack.com/services/T${letters(8)}/B${letters(8)}/${letters(24)}`,
  basicauth: `https://ada:${letters(12)}@db.example.org/path`,
  openai: `sk-${letters(20)}T3BlbkFJ${letters(20)}`,
  anthropic: `sk-ant-api03-${letters(93)}AA`,
  groq: `gsk_${letters(52)}`,
  huggingface: `hf_${'abcdefghij'.repeat(4).slice(0, 34)}`,
  linear: `lin_api_${letters(40)}`,
  notion: `ntn_${'12345678901'}${letters(35)}`,
  privatekey: `-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----END RSA PRIVATE KEY-----`,
  sendgrid: `SG.${letters(22)}.${letters(43)}`,
  shopify: `shpat_${hex(32)}`,
  stripe: `sk_live_${letters(24)}`,
  github: `ghp_${letters(36)}`,
  'github fine-grained': `github_pat_${letters(82)}`,
  gitlab: `glpat-${letters(20)}`,
  grafana: `glc_${letters(40)}`,
  'grafana service': `glsa_${letters(32)}_${hex(8)}`,
  mongodb: `mongodb+srv://ada:${letters(12)}@db.example.org/app`,
  mysql: `mysql://ada:${letters(12)}@db.example.org/app`,
  postgres: `postgresql://ada:${letters(12)}@db.example.org/app`,
  vault: `hvs.${letters(95)}`,
  vercel: `vcp_${letters(40)}`,
  databricks: `dapi${hex(32)}`,
  docker: `dckr_pat_${letters(27)}`,
  figma: `figd_${letters(43)}`,
  cloudflare: `cfut_${letters(40)}${hex(8)}`,
  tailscale: `tskey-auth-${letters(12)}-${letters(32)}`,
}

describe('redaction', () => {
  it.each(Object.entries(SAMPLES))(
    'replaces a secret that the rules know, and the filter does not skip it: %s',
    async (_, secret) => {
      const text = `before ${secret}\nafter`
      expect(await findSecrets(text)).not.toEqual([])
      expect(mayHoldSecret(text)).toBe(true)
      const redacted = await redactSecrets(text)
      expect(redacted).toContain('[redacted]')
      expect(redacted.startsWith('before ')).toBe(true)
      expect(redacted.endsWith('\nafter')).toBe(true)
    },
  )

  it('removes the secret itself, not only the name before it', async () => {
    expect(await redactSecrets(SAMPLES['aws'] ?? '')).not.toContain(letters(40))
  })

  it('removes further occurrences of a secret', async () => {
    const secret = SAMPLES['github'] ?? ''
    expect(await redactSecrets(`${secret} and ${secret}`)).toBe('[redacted] and [redacted]')
  })

  it('completely removes a secret that contains another secret', async () => {
    const address = `mysql://root:npm_${letters(36)}@localhost/db`
    expect(await redactSecrets(`to ${address} now`)).toBe('to [redacted] now')
  })

  it.each([0, 29_990, 39_990, 60_000])('finds a secret at any position of a long text: at %i', async (place) => {
    const secret = SAMPLES['github'] ?? ''
    const rest = '\nword'.repeat(20_000)
    const text = `${rest.slice(0, place)}\n${secret}${rest}`
    expect(await redactSecrets(text)).toBe(`${rest.slice(0, place)}\n[redacted]${rest}`)
  })

  it('does not block the event loop on a text full of secrets', async () => {
    const text = Array.from({ length: 10_000 }, (_, number) => `npm_${String(number).padStart(36, 'aB3')}`).join('\n')
    let redacted = ''
    const longest = await longestTurn(async () => (redacted = await redactSecrets(text)))
    expect(redacted).toBe(Array.from({ length: 10_000 }, () => '[redacted]').join('\n'))
    expect(longest).toBeLessThan(1_000)
  })

  it('ignores comments in the text that would disable its rules', async () => {
    expect(await redactSecrets(`// secretlint-disable\n${SAMPLES['github']}`)).toBe('// secretlint-disable\n[redacted]')
  })

  const secretOf = (rule: string): string => SAMPLES[rule] ?? ''
  it.each([
    ['a private key', secretOf('privatekey'), letters(40)],
    ['a quoted key', secretOf('aws'), letters(40)],
    ['an address with a password', secretOf('postgres'), letters(12)],
  ])('removes a secret in escaped arguments at any depth: %s', async (_, secret, part) => {
    let text = `export X=${secret} && run`
    for (let depth = 0; depth < 3; depth++) {
      text = JSON.stringify({ cmd: text }).replaceAll('/', depth === 0 ? String.raw`\/` : '/')
      const redacted = await redactSecrets(`shell(args=${text})`)
      expect(redacted, text).toContain('[redacted]')
      expect(redacted, text).not.toContain(part)
      expect(redacted.endsWith(')')).toBe(true)
    }
  })

  it.each([
    ['a private key', secretOf('privatekey'), letters(40)],
    ['an address with a password', secretOf('postgres'), letters(12)],
  ])('removes a secret from a percent-encoded address, also in JSON: %s', async (_, secret, part) => {
    const once = `https://x.example/?a=50%&key=${encodeURIComponent(secret)}&b=1`
    for (const text of [once, `https://y.example/?to=${encodeURIComponent(once)}`, JSON.stringify({ url: once })]) {
      const redacted = await redactSecrets(`GET ${text} done`)
      expect(redacted, text).toContain('[redacted]')
      expect(redacted, text).not.toContain(part)
      expect(redacted.endsWith(' done')).toBe(true)
    }
  })

  it('removes a webhook signing secret', async () => {
    const signing = `whsec_${letters(44)}`
    expect(await redactSecrets(`secret: ${signing}==, X`)).toBe('secret: [redacted], X')
  })

  it('removes an API key of this product', async () => {
    const ours = `tt_${letters(43)}`
    expect(await redactSecrets(`Authorization: Bearer ${ours}\nX`)).toBe('Authorization: Bearer [redacted]\nX')
  })

  it.each(
    Object.entries({
      Bedrock: `ABSK${letters(110)}/+==`,
      'Bedrock, of a login': `bedrock-api-key-${letters(300)}`,
      Google: `AIza${letters(35)}`,
      xAI: `xai-${letters(80)}`,
      OpenRouter: `sk-or-v1-${hex(64)}`,
    }),
  )("removes a provider's key that no library rule knows: %s", async (_, secret) => {
    expect(await redactSecrets(`it is ${secret}, he said`)).toBe('it is [redacted], he said')
    expect(await redactSecrets(JSON.stringify({ header: `"key": "${secret}"` }))).not.toContain(secret.slice(4, -4))
    expect(await redactSecrets(`it is ${secret.slice(0, 30)}, he said`)).not.toContain('[redacted]')
  })

  it.each([
    ['an AWS header', 'Credential=…, SignedHeaders=host, Signature=', hex(64), ' X'],
    ['an address of S3', 'https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=', hex(64), '&x=1'],
    ['temporary credentials', 'x-amz-security-token: ', `${letters(200)}/+==`, ' X'],
    ['an address of Google Cloud', 'https://storage.googleapis.com/b/k?X-Goog-Signature=', hex(150), ' X'],
    ['an address of CloudFront', 'https://d1.cloudfront.net/k?Signature=', `${letters(80)}~-_`, '&Key-Pair-Id=K2'],
    ['an address of Azure', 'https://a.blob.core.windows.net/c/b?sp=r&sig=', `${letters(41)}%2F%3D`, '&se=1'],
    ['a token before a host', 'git clone https://', letters(24), '@git.example.org/a.git'],
  ])('removes signatures and signed tokens: %s', async (_, before, secret, after) => {
    expect(await redactSecrets(`${before}${secret}${after}`)).toBe(`${before}[redacted]${after}`)
    const nested = JSON.stringify({ args: JSON.stringify({ text: `${before}${secret}${after}` }) })
    expect(await redactSecrets(nested)).not.toContain(secret.slice(4, -4))
    expect(await redactSecrets(encodeURIComponent(`${before}${secret}${after}`))).not.toContain(secret.slice(4, 20))
  })

  it('keeps words after the name of a signature', async () => {
    for (const plain of ['f(x, signature=inspectTheSignatureOfThisFunction)', '?sig=abc', '?a=1&Signature=short1'])
      expect(await redactSecrets(plain)).toBe(plain)
  })

  it('removes an AWS key id, but keeps a longer word with that beginning', async () => {
    const id = `${'AKIA'}${'IOSFODNN7EXAMPLE'.replace('1', '2')}`
    expect(await redactSecrets(`as ${id}, or ${id.replace('K', 'S')}`)).toBe('as [redacted], or [redacted]')
    for (const word of [`${id}AB`, `X${id}`, id.slice(0, -1), id.toLowerCase(), 'ASIA', 'AKIA: what is it?'])
      expect(await redactSecrets(word)).toBe(word)
  })

  it('removes name and password from an address, and keeps equal words elsewhere', async () => {
    const text = 'the word is word: git clone https://ada:word%21.x@example.org/word'
    expect(await redactSecrets(text)).toBe('the word is word: git clone https://[redacted]@example.org/word')
    const id = `${'AKIA'}${'IOSFODNN7EXAMPLE'.replace('1', '2')}`
    expect(await redactSecrets(`at redis://${id}:0pen@example.org`)).toBe('at redis://[redacted]@example.org')
    expect(await redactSecrets('redis://:Pa$$word.12@[::1]:6379')).toBe('redis://[redacted]@[::1]:6379')
    for (const plain of ['https://example.org:8080/@ada', 'mail to ada@example.org: now', 'https://ada@example.org'])
      expect(await redactSecrets(plain)).toBe(plain)
  })

  it('removes a private key without its end, and keeps the text around it', async () => {
    const begun = `-----BEGIN RSA PRIVATE KEY-----\n${`${letters(64)}\n`.repeat(70)}`
    expect(await redactSecrets(`before\n${begun}`)).toBe('before\n[redacted]')
    expect(await redactSecrets(`before\n${begun}"; the rest`)).toBe('before\n[redacted]"; the rest')
  })

  it('keeps other text unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        expect(await redactSecrets(text)).toBe(text)
      }),
    )
  })

  it('the filter skips no secret, even in words that look like the beginnings of secrets', async () => {
    const beginnings = [
      'npm_',
      'ghp',
      'sk-',
      'hf_',
      'xoxb',
      'SECRET',
      'postgres',
      '://',
      '@',
      'SG.',
      'figd',
      'AA',
      letters(40),
      ' ',
      '=',
      ':',
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...beginnings), { maxLength: 12 }), async (pieces) => {
        const text = pieces.join('')
        if (!mayHoldSecret(text)) expect(await findSecrets(text)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })
})
