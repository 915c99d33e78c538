import { NAME_AND_PASSWORD, OTHER_KEYS, PRIVATE_KEY_BEGINS, SIGNATURES } from '../domain/key-forms.ts'
import { unescapeOnce } from './escaped-text.ts'

/** Where something begins in a text, and where what follows it does, in UTF-16 units. */
export type Range = readonly [start: number, end: number]

/** Characters (UTF-16 units) of the longest secret. */
export const LONGEST_SECRET = 10_000

/**
 * What every text has in which a rule of secretlint's recommended preset finds a secret, rule by rule; loose where looseness
 * is cheap. Linting costs some 0.4 ms for 2 KB and stands in the way of every write of the log, this filter some 0.02 ms.
 * `test/search/redact.test.ts` holds a sample of each rule against it.
 */
const HINTS: readonly string[] = [
  // aws
  '(?:SECRET|secret|Secret)_?(?:ACCESS|access|Access)_?(?:KEY|key|Key)',
  // npm
  '_authToken=',
  'npm_[A-Za-z0-9_]{36}',
  // slack
  'xox[bpaor]-',
  'xapp-',
  '[hH][oO][oO][kK][sS]\\.[sS][lL][aA][cC][kK]\\.',
  // basicauth
  '(?:http|https|ftp|ftps)://[-a-zA-Z0-9_]+:[-a-zA-Z0-9_]+@',
  // openai, anthropic, groq, huggingface, linear, notion
  'T3BlbkFJ',
  'sk-ant-api0',
  'gsk_[a-zA-Z0-9]{52}',
  'hf_[a-zA-Z]{34}',
  'lin_api_',
  'ntn_[0-9]{11}',
  // privatekey, gcp
  'PRIVATE KEY',
  // sendgrid, shopify, stripe
  'SG\\.\\w+\\.',
  'shp(?:pa|ca|at|ss)_',
  '[sr]k_(?:live|test)_',
  // github, gitlab, grafana
  'gh[pousr]_[A-Za-z0-9]',
  'github_pat_',
  'glpat-',
  'glc_[A-Za-z0-9+/]{32}',
  'glsa_',
  // 1password
  'ops_ey',
  // database-connection-string
  '(?:[mM][oO][nN][gG][oO][dD][bB]|[sS][rR][vV]|[mM][yY][sS][qQ][lL][xX]?|[pP][oO][sS][tT][gG][rR][eE][sS](?:[qQ][lL])?)://',
  // hashicorp-vault, vercel, databricks, docker, figma, cloudflare, tailscale
  'hv[sbr]\\.[A-Za-z0-9_-]{90}',
  'vc[piark]_[A-Za-z0-9]{20}',
  'dapi[A-Fa-f0-9]{32}',
  'dckr_pat_',
  'figd_',
  'cf(?:k|ut|at)_',
  'tskey-',
  // passwords in addresses, of more kinds than basicauth knows
  '://[^\\s/:@]{0,100}:[^\\s/@]{1,200}@',
  '://[A-Za-z0-9_-]{20,255}@',
  '[?&,;\\s-][Ss]ignature=',
  '[?&]sig=',
  '-[Ss]ecurity-[Tt]oken',
  OTHER_KEYS,
]
const HINT = new RegExp(HINTS.join('|'), 'u')

/** Whether a text may hold a secret that the rules recognise, as it stands; false means that it holds none. */
export const mayHoldSecret = (text: string): boolean => HINT.test(text)

/** A call shows its arguments as JSON, which may hold JSON, which may hold a command in quotation marks or an address. */
const ESCAPED_TIMES = 3

/** Secrets as they stand, and as they would without escapes: where they are, and what they are. */
export async function findEscaped(window: string): Promise<{ readonly range: Range; readonly secret: string }[]> {
  const found: { readonly range: Range; readonly secret: string }[] = []
  let view = window
  let original = (unit: number): number => unit
  for (let times = 0; ; times++) {
    if (mayHoldSecret(view))
      for (const [start, end] of [...(await findSecrets(view)), ...findOwn(view)])
        found.push({ range: [original(start), original(end - 1) + 1], secret: view.slice(start, end) })
    const next = times < ESCAPED_TIMES ? unescapeOnce(view) : undefined
    if (next === undefined) return found
    const outer = original
    original = (unit) => outer(next.original(unit))
    view = next.text
  }
}

/** The id of a key may be the name before a password. */
const OTHER = new RegExp(`${NAME_AND_PASSWORD}|${SIGNATURES}|${OTHER_KEYS}`, 'gu')
const KEY_BEGINS = new RegExp(PRIVATE_KEY_BEGINS, 'gu')
const KEY_ENDS = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/u
/** What stands between: base64 in lines, with headers. */
const NO_KEY = /[^A-Za-z0-9+/=\s:,.()-]/u

/**
 * Secrets that no rule knows: keys of other forms, passwords in addresses, signatures, and the beginning of a private key whose end is not in
 * the text.
 */
function findOwn(text: string): Range[] {
  const whole = Array.from(text.matchAll(OTHER), ({ 0: secret, index }): Range => [index, index + secret.length])
  const begun = Array.from(text.matchAll(KEY_BEGINS), ({ 0: line, index }): Range => {
    const rest = text.slice(index + line.length, index + LONGEST_SECRET)
    const end = KEY_ENDS.exec(rest)
    if (end !== null) return [index, index + line.length + end.index + end[0].length]
    const other = NO_KEY.exec(rest)
    return [index, index + line.length + (other?.index ?? rest.length)]
  })
  return [...whole, ...begun]
}

/** Where secrets stand in a text of moderate length, in UTF-16 units: what the rules say, whatever comments in the text ask them to ignore. */
export async function findSecrets(text: string): Promise<Range[]> {
  const [{ lintSource }, { rules }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
  ])
  const finders = rules.filter((rule) => !rule.meta.id.endsWith('filter-comments'))
  // The name is that of a file in which the rules look for everything that they know of texts.
  const source = { content: text, contentType: 'text' as const, filePath: '.npmrc', ext: '' }
  const config = { rules: finders.map((rule) => ({ id: rule.meta.id, rule })) }
  const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } })
  return messages.map(({ range, data }) => placeOf(text, range, data ?? {}))
}

/**
 * A finding's range begins where the whole pattern does but is only as long as the secret in it (`key = SECRET`), so the
 * secret is looked for from there by its text, which `data` names.
 */
function placeOf(text: string, range: Range, data: object): Range {
  const secrets = Object.values(data).filter(
    (value): value is string => typeof value === 'string' && value !== '' && text.includes(value, range[0]),
  )
  const secret = secrets.reduce((longest, value) => (value.length > longest.length ? value : longest), '')
  if (secret === '') return range
  const start = text.indexOf(secret, range[0])
  return [start, start + secret.length]
}
