/** A kind of key that can be recognized by its prefix. */
interface KeyForm {
  /** Pattern of the prefix, as the source of a regular expression. */
  readonly begins: string
  /** Pattern of the rest. Absent if a rule of secretlint's recommended preset recognizes the key. */
  readonly rest?: string
}

const FORMS: readonly KeyForm[] = [
  // Keys of Tooltrail, and secrets that sign webhooks: 24 or more bytes in base64
  { begins: 'tt_', rest: '[A-Za-z0-9_-]{43,128}' },
  { begins: 'whsec_', rest: '[A-Za-z0-9+/]{24,512}={0,2}' },
  // AWS key ids, long-lived and temporary, in base 32
  { begins: '(?<![A-Za-z0-9])(?:AKIA|ASIA)', rest: '[A-Z2-7]{16}(?![A-Za-z0-9])' },
  // Bedrock (long-lived keys and login keys); Google; xAI; OpenRouter
  { begins: 'ABSK', rest: '[A-Za-z0-9+/]{80,512}={0,2}' },
  { begins: 'bedrock-api-key-', rest: '[A-Za-z0-9+/]{80,4000}={0,2}' },
  { begins: 'AIza', rest: '[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])' },
  { begins: 'xai-', rest: '[A-Za-z0-9]{80}(?![A-Za-z0-9])' },
  { begins: 'sk-or-v1-', rest: '[a-f0-9]{64}(?![A-Za-z0-9])' },
  // Anthropic (logins and administrators); Google (logins); tokens of temporary AWS credentials; PyPI
  { begins: 'sk-ant-[a-z]{2,12}[0-9]{2}-', rest: '[A-Za-z0-9_-]{80,200}' },
  { begins: 'GOCSPX-', rest: '[A-Za-z0-9_-]{28}' },
  { begins: String.raw`ya29\.`, rest: '[A-Za-z0-9_-]{60,2048}' },
  { begins: '(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)', rest: '[A-Za-z0-9+/]{100,4096}={0,2}' },
  { begins: 'pypi-AgE', rest: '[A-Za-z0-9_-]{50,512}' },
  { begins: '(?:sk|rk|pk)[-_]' },
  { begins: 'gsk_' },
  { begins: 'hf_' },
  { begins: 'gh[pousr]_' },
  { begins: 'github_pat_' },
  { begins: 'glpat-' },
  { begins: 'npm_' },
  // Slack, including tokens of pages and apps, and rotating tokens
  { begins: 'xox[a-z]-', rest: '(?=[A-Za-z%+/_-]{0,100}[0-9])[A-Za-z0-9%+/_-]{24,1024}={0,2}' },
  { begins: 'xapp-', rest: '[0-9]-[A-Za-z0-9]{6,20}-[0-9]{6,20}-[A-Za-z0-9]{32,128}' },
  // SendGrid, Shopify, Grafana, Linear, Notion, Vault, Vercel, Databricks, Docker, Figma, Cloudflare, Tailscale
  { begins: String.raw`SG\.` },
  { begins: 'shp(?:pa|ca|at|ss)_' },
  { begins: 'gl(?:c|sa)_' },
  { begins: 'lin_api_' },
  { begins: 'ntn_' },
  { begins: String.raw`hv[sbr]\.` },
  { begins: 'vc[piark]_' },
  { begins: 'dapi(?=[a-f0-9]{32})' },
  { begins: 'dckr_pat_' },
  { begins: 'figd_' },
  { begins: 'cf(?:k|ut|at)_' },
  { begins: 'tskey-' },
]

/** Pattern of all prefixes. The caller chooses what may follow, because an error may quote only a part of a key. */
export const KEY_BEGINNINGS: string = FORMS.map(({ begins }) => begins).join('|')

/** Pattern of whole keys that no rule of secretlint's recommended preset recognizes. */
export const OTHER_KEYS: string = FORMS.flatMap(({ begins, rest }) => (rest === undefined ? [] : begins + rest)).join(
  '|',
)

/**
 * Pattern of a name and password in an address. They are matched together, because the password alone may be an
 * ordinary word. Also matches a token that replaces both.
 */
export const NAME_AND_PASSWORD = String.raw`(?<=://)(?:[^\s/:@"'<>]{0,100}:[^\s/:@"'<>]{1,200}|(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{20,255})(?=@[A-Za-z0-9[])`

/**
 * Patterns of signatures in headers and addresses: of AWS, CloudFront, Google Cloud and Azure, and the token of
 * temporary AWS credentials. A signed address grants access for a while.
 */
export const SIGNATURES: readonly string[] = [
  String.raw`(?<=[?&,;\s-][Ss]ignature=)(?=[A-Za-z%+/~_-]{0,100}[0-9])[A-Za-z0-9%+/~_-]{27,1024}={0,2}`,
  '(?<=[?&;]sig=)(?=[A-Za-z%+/_-]{0,100}[0-9])[A-Za-z0-9%+/_-]{43,100}={0,2}',
  String.raw`(?<=(?:[Xx]-[Aa]mz-[Ss]ecurity-[Tt]oken|[Ss]ession_?[Tt]oken|SESSION_TOKEN)[\\"']{0,3} ?[=:] ?[\\"']{0,3})[A-Za-z0-9%+/_-]{64,4096}={0,2}`,
]

const SAYS = String.raw`[\\"']{0,3} {0,2}[:=,] {0,2}[\\"']{0,3}`
const PAIR = String.raw`[^\n"'=;]{1,60}=[^\n"';]{0,200};`

/**
 * Patterns of credentials that a name identifies: JSON web tokens, headers, and values in connection strings and
 * addresses. If the value alone may be an ordinary word, the pattern includes the name.
 */
export const CREDENTIALS: readonly string[] = [
  String.raw`(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`,
  String.raw`(?<=(?:(?:[Aa]uthorization|AUTHORIZATION)${SAYS}(?:[Bb]earer|[Bb]asic|[Tt]oken) |[Xx]-[Aa][Pp][Ii]-[Kk][Ee][Yy]${SAYS}))(?=[A-Za-z_.~+/=-]{0,200}[0-9])[A-Za-z0-9_.~+/=-]{12,4096}`,
  '(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])(?<=(?:SECRET|[Ss]ecret)[_-]?(?:ACCESS|[Aa]ccess)[_-]?(?:KEY|[Kk]ey)[^A-Za-z0-9/+]{1,12}.{40})',
  '(?<=(?:Account|SharedAccess)Key=)[A-Za-z0-9+/]{40,100}={0,2}',
  String.raw`(?<=(?:[Ss]erver|[Hh]ost|[Dd]ata [Ss]ource|[Uu]ser ?[Ii][Dd]|UID|[Uu]id)=[^\n"'=;]{1,200};(?:${PAIR}){0,10} ?)(?:[Pp]assword|PWD|[Pp]wd)=[^\s"';]{1,200}`,
  String.raw`(?<=(?:host|user|dbname)=[^\s"']{1,200} (?:[a-z_]{1,30}=[^\s"']{1,200} ){0,8})password=[^\s"']{1,200}`,
  String.raw`(?<=(?:jdbc:|://)[^\s"'<>]{1,300}[?&;])(?:password|passwd|pwd|(?:access_|refresh_|auth_)?token|client_secret|api_?key)=(?=[^\s"'<>&;#0-9]{0,200}[0-9])[^\s"'<>&;#]{12,2048}`,
]

/** The lines before and after a private key. In a URL-encoded form, a space is `+`. */
export const PRIVATE_KEY_BEGINS = '-----BEGIN[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----'
export const PRIVATE_KEY_ENDS = '-----END[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----'
