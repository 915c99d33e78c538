import { SdkHttpError } from '@modelcontextprotocol/client'
import { isExactNumber } from '../../domain/json.ts'
import { nameOf } from './connection.ts'
import type { McpConnection } from './connection.ts'

/**
 * Minimum length, in characters, from which values are hidden. The first limit applies to secrets that the settings
 * name, the second to all other values in the headers or the address.
 */
const MIN_SECRET_CHARACTERS = 4
const MIN_VALUE_CHARACTERS = 8
/** Minimum length, in characters, from which segments of the address's path are hidden. A long segment may be a key. */
const MIN_PATH_CHARACTERS = 16
const HIDDEN = '[secret removed]'

export interface ServerSecrets {
  readonly url: string
  /** Returns the headers for the server, and the secrets that these headers contain. */
  readonly sent: () => Promise<{
    readonly headers: Readonly<Record<string, string>>
    readonly secrets: readonly string[]
  }>
}

/**
 * Wraps a connection so that it reveals no secret of the operator, whatever the server sends in lists, results,
 * progress and errors. An HTTP error is reduced to its status, because any machine on the way may have written its
 * text.
 */
export function hideSecrets(connection: McpConnection, server: ServerSecrets): McpConnection {
  const { host } = new URL(server.url)

  async function guard<Result>(work: (hide: Hide) => Promise<Result>): Promise<Result> {
    // If a secret is missing, `secretsOf` rejects with our own error. That error contains the secret's name, but no
    // value.
    const hide = hiderOf(await secretsOf(server))
    try {
      return hideDeep(await work(hide), hide)
    } catch (error) {
      throw shownError(error, host, hide)
    }
  }

  return {
    async list() {
      return guard(async (hide) => {
        const { tools, refused } = await connection.list()
        const isShown = (name: string | undefined): boolean => name === undefined || hide(name) === name
        return { tools: tools.filter((tool) => isShown(nameOf(tool))), refused: refused.filter(isShown) }
      })
    },
    async call(tool, input, options) {
      return guard((hide) => {
        const { progressed } = options
        const shown = progressed && { progressed: (notice: Progress) => progressed(notice && hideDeep(notice, hide)) }
        return connection.call(tool, input, { ...options, ...shown })
      })
    },
  }
}

type Progress = Parameters<NonNullable<Parameters<McpConnection['call']>[2]['progressed']>>[0]
type Hide = (text: string) => string

async function secretsOf({ url, sent }: ServerSecrets): Promise<readonly string[]> {
  const { headers, secrets } = await sent()
  const { username, password, searchParams, pathname } = new URL(url)
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/[\s=;,:]+/u)])
  const query = [username, password].map(decodeURIComponent).concat([...searchParams.values()])
  const path = pathname.split('/').filter((part) => part.length >= MIN_PATH_CHARACTERS)
  const all = [
    ...secrets.filter(({ length }) => length >= MIN_SECRET_CHARACTERS),
    ...[...values, ...query, ...path].filter(({ length }) => length >= MIN_VALUE_CHARACTERS),
  ]
  const encoded = all.flatMap((value) => [
    value,
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').replace(/=+$/u, ''),
    Buffer.from(value).toString('base64url'),
  ])
  // The longest secrets are replaced first, because a secret may contain another one.
  return [...new Set(encoded)].toSorted((left, right) => right.length - left.length)
}

const hiderOf =
  (secrets: readonly string[]): Hide =>
  (text) =>
    secrets.reduce((left, secret) => left.replaceAll(secret, HIDDEN), text)

/**
 * Returns a copy of the value with secrets removed from its texts and property names. The value's depth is limited
 * (`bounded-response.ts`).
 */
function hideDeep<Value>(value: Value, hide: Hide): Value {
  if (typeof value === 'string') return hide(value) as Value
  if (Array.isArray(value)) return value.map((one: unknown) => hideDeep(one, hide)) as Value
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (isExactNumber(value)) return value
  const isMedia =
    'mimeType' in value || 'blob' in value || ('type' in value && (value.type === 'image' || value.type === 'audio'))
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) =>
      isMedia && (name === 'data' || name === 'blob') ? [name, one] : [hide(name), hideDeep(one, hide)],
    ),
  ) as Value
}

/** Returns an error without the original as its cause, because the original contains the secrets. */
function shownError(error: unknown, host: string, hide: Hide): unknown {
  if (!(error instanceof Error)) return error
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return error
  const status = error instanceof SdkHttpError ? error.status : undefined
  const text = status === undefined ? hide(error.message) : `${host} responded with HTTP status ${status}`
  return Object.assign(new Error(text), { name: error.name })
}
