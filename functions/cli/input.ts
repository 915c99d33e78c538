import { isAbsolute, resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { MISUSED } from '../runtime/command.ts'
import type { MetadataQuery } from '../client/client.ts'
import { ULID_PATTERN, isSessionId, isTenant } from '../domain/ids.ts'

export const NEEDS_ATTENTION = 2
export const NEEDS_A_PERSON = 3
export const INTERRUPTED = 130

/** A command failed. The message is the only line that is shown. `exitCode` is the exit code of the process. */
export class Failed extends Error {
  override readonly name = 'Failed'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Each function parses an argument of the command line, or throws with the expected format. */

export function count(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new InvalidArgumentError('It must be a whole number above 0.')
}

export function tenantName(text: string): string {
  if (isTenant(text)) return text
  throw new InvalidArgumentError('It must be 1–64 of a-z 0-9 -')
}

export function sessionId(text: string): string {
  if (isSessionId(text)) return text
  throw new InvalidArgumentError(
    'The id of a session has 1–128 of A-Z a-z 0-9 . _ : - and begins with a letter or a digit. List them: tooltrail sessions.',
  )
}

/** Parses an address. An empty text, from an empty variable, stays empty. The error does not quote a password. */
export function address(text: string): string {
  const fault = text === '' ? undefined : addressFault(text)
  if (fault === undefined) return text
  throw new Failed(`--url ${fault}. Run with --help to see what there is.`, MISUSED)
}

/** Parses a key; empty if it comes from an empty variable. The error does not quote the key. */
export function keyText(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text
  throw new Failed('--key must be a key as it was printed: tt_…. Run with --help to see what there is.', MISUSED)
}

export function value(text: string): string {
  if (text.trim() !== '' && text !== '*') return text
  throw new InvalidArgumentError('It must not be empty.')
}

export function messageId(text: string): string {
  if (ULID_PATTERN.test(text)) return text
  throw new InvalidArgumentError('The id of a message has 26 digits and capitals. Find one: tooltrail search.')
}

/** Makes a path absolute; a relative path starts at the current folder. A `*` at the end stays. */
export function folderPath(text: string): string {
  const path = value(text)
  if (isAbsolute(path) || /^[A-Za-z]:[\\/]/u.test(path)) return path
  return path.endsWith('*') ? resolve(path.slice(0, -1)) + (/[\\/]\*$/u.test(path) ? '/*' : '*') : resolve(path)
}

/** The folder, program and branch of a session's work. */
export interface PlaceOptions {
  readonly folder?: string | undefined
  readonly source?: string | undefined
  readonly branch?: string | undefined
}

/** The query parameters for these options. */
export const metadataQuery = ({ folder, source, branch }: PlaceOptions): MetadataQuery => ({
  'metadata.folder': folder,
  'metadata.source': source,
  'metadata.branch': branch,
})

/** Returns why a text is not the address of a program, as a part of a sentence. Undefined if it is a valid address. */
function addressFault(text: string): string | undefined {
  const address = URL.parse(text)
  if (address === null || !/^https?:$/.test(address.protocol))
    return 'must be an http or https address such as https://api.example.com'
  if (address.username + address.password + address.search + address.hash !== '')
    return 'must be the address alone, without a name, a password, ? and #'
  return undefined
}
