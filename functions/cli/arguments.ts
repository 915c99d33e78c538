import { InvalidArgumentError } from 'commander'
import { isSessionId, isTenant } from '../domain/ids.ts'
import { addressFault } from './program-address.ts'

/** Each reads a word of the command line, or says what it must be. */

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

/** Empty where a variable is. */
export function address(text: string): string {
  const fault = text === '' ? undefined : addressFault(text)
  if (fault === undefined) return text
  throw new InvalidArgumentError(`It ${fault}`)
}

/** Empty where a variable is. */
export function keyText(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text
  throw new InvalidArgumentError('It must be a key as it was printed: tt_…')
}
