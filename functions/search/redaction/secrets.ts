import { CREDENTIALS, NAME_AND_PASSWORD, OTHER_KEYS, SIGNATURES } from '../../domain/keys/key-forms.ts'
import { decodedIn, holding } from './encoded-text.ts'
import { mayBeEscaped, unescapeOnce } from './escaped-text.ts'
import { findPrivateKeys, type Range } from './private-keys.ts'

/**
 * Patterns by rule. If a rule of secretlint's recommended preset finds a secret in a text, a pattern of this rule
 * always matches the text. The patterns are loose where this is cheap. Linting takes about 0.4 ms for 2 KB and delays
 * every write of the log; this filter takes about 0.02 ms. `test/search/redaction/redact.test.ts` checks the patterns
 * with a sample of each rule.
 */
const HINTS: readonly string[] = [
  // aws
  '(?:SECRET|secret|Secret)[_-]?(?:ACCESS|access|Access)[_-]?(?:KEY|key|Key)',
  // npm
  '_authToken=',
  'npm_[A-Za-z0-9_]{36}',
  // slack
  'xox[bpaor]-',
  'xapp-',
  '[hH][oO][oO][kK][sS]\\.[sS][lL][aA][cC][kK]\\.',
  // basicauth
  '(?:http|https|ftp|ftps)://[-a-zA-Z0-9_]{1,1000}:[-a-zA-Z0-9_]{1,1000}@',
  // openai, anthropic, groq, huggingface, linear, notion
  'T3BlbkFJ',
  'sk-ant-api0',
  'gsk_[a-zA-Z0-9]{52}',
  'hf_[a-zA-Z]{34}',
  'lin_api_',
  'ntn_[0-9]{11}',
  // privatekey, gcp
  'PRIVATE[ +]KEY',
  // sendgrid, shopify, stripe
  'SG\\.\\w{1,1000}\\.',
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
  // passwords in addresses, for more schemes than the rule basicauth
  '://[^\\s/:@]{0,100}:[^\\s/@]{1,200}@',
  '://[A-Za-z0-9_-]{20,255}@',
  '[?&,;\\s-][Ss]ignature=',
  '[?&;]sig=',
  '-[Ss]ecurity-[Tt]oken|[Ss]ession_?[Tt]oken|SESSION_TOKEN',
  // names of credentials
  '\\.eyJ',
  '(?:uthorization|UTHORIZATION|-[Aa][Pp][Ii]-[Kk][Ee][Yy])[\\\\"\']{0,3} {0,2}[:=,]',
  '(?:Account|SharedAccess)Key=',
  '(?:[Pp]assword|PWD|[Pp]wd|passwd|token|client_secret|api_?key)=',
  OTHER_KEYS,
]
const HINT = new RegExp(HINTS.join('|'), 'u')

/** Whether a text may contain an unescaped secret of the rules. False means that it certainly contains none. */
export const mayHoldSecret = (text: string): boolean => HINT.test(text)

/** Whether a text may contain a secret in any form. False means that it certainly contains none. */
export const mayHide = (text: string): boolean =>
  mayBeEscaped(text) || mayHoldSecret(text) || decodedIn(text).length > 0

/**
 * Maximum nesting of escapes. A call shows its arguments as JSON. A string in these arguments may contain JSON too.
 * That JSON may contain a quoted command or an address.
 */
const ESCAPED_TIMES = 4

interface Found {
  readonly range: Range
  readonly secret: string
}

/** Finds secrets in a text, also in escaped form and in base64. Returns their ranges and texts. */
export async function findEscaped(window: string, encoded = false): Promise<Found[]> {
  const found: Found[] = []
  let view = window
  let original = (unit: number): number => unit
  for (let times = 0; ; times++) {
    const ranges = mayHoldSecret(view) ? [...(await findSecrets(view)), ...findOwn(view)] : []
    if (!encoded) ranges.push(...(await holding(view, (text) => findEscaped(text, true))))
    for (const [start, end] of ranges)
      found.push({ range: [original(start), original(end)], secret: view.slice(start, end) })
    const next = times < ESCAPED_TIMES ? unescapeOnce(view) : undefined
    if (next === undefined) return found
    const outer = original
    original = (unit) => outer(next.original(unit))
    view = next.text
  }
}

/** Each pattern runs separately: one combined pattern takes twice as long. */
const OTHERS = [NAME_AND_PASSWORD, ...SIGNATURES, ...CREDENTIALS, OTHER_KEYS].map((form) => new RegExp(form, 'gu'))

/**
 * Finds secrets that no rule of secretlint covers: other forms of keys, passwords in addresses, signatures, and partial
 * private keys.
 */
function findOwn(text: string): Range[] {
  const matches = OTHERS.flatMap((form) => [...text.matchAll(form)])
  return [...matches.map(({ 0: secret, index }): Range => [index, index + secret.length]), ...findPrivateKeys(text)]
}

/**
 * Finds the ranges of secrets in a text of moderate length, in UTF-16 units. Comments in the text that disable rules
 * have no effect.
 */
export async function findSecrets(said: string): Promise<Range[]> {
  // Some rules find no key directly after a letter. In writing systems without spaces, a key may directly follow a
  // letter. So each non-ASCII character is replaced.
  const text = said.replaceAll(/\P{ASCII}/gu, (letter) => '·'.repeat(letter.length))
  const [{ lintSource }, { rules }, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ])
  // The linter's profiler must be disabled, because it keeps about 200 entries per text in memory forever.
  secretLintProfiler.setEnabled(false)
  const finders = rules.filter((rule) => !rule.meta.id.endsWith('filter-comments'))
  // With this file name, every rule reads the text.
  const source = { content: text, contentType: 'text' as const, filePath: '.npmrc', ext: '' }
  const config = { rules: finders.map((rule) => ({ id: rule.meta.id, rule })) }
  const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } })
  return messages.map(({ range, data }) => placeOf(text, range, data ?? {}))
}

/**
 * Returns the range of a secret. A finding's range begins at the whole match (`key = SECRET`) but has only the length
 * of the secret. So the secret's text, which is in `data`, is searched from the beginning of the range.
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
