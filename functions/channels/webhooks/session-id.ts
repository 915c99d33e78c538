import { sha256 } from '../../domain/hash.ts'

/** Characters that a rendered text keeps; with the hash behind them, a session id has 128. */
const MAX_TEXT_CHARACTERS = 119
const HASH_DIGITS = 8

/** The session id that a rendered text names: the text itself if it is one that is short enough. */
export function sessionIdOf(rendered: string): string {
  const allowed = rendered.replaceAll(/[^A-Za-z0-9._:-]/gu, '-')
  const begun = /^[A-Za-z0-9]/.test(allowed) ? allowed : `x${allowed}`
  const cut = begun.slice(0, MAX_TEXT_CHARACTERS)
  if (cut === rendered) return cut
  return `${cut}-${hashOf(rendered)}`
}

/** The id that a webhook uses in place of one that a key of another owner has taken. It hashes the name, a space and the id. */
export const replacementIdOf = (webhook: string, id: string): string =>
  `${id.slice(0, MAX_TEXT_CHARACTERS)}-${hashOf(`${webhook} ${id}`)}`

const hashOf = (text: string): string => sha256(text).slice(0, HASH_DIGITS)
