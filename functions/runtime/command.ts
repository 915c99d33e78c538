import { OpenSearchError } from '../adapters/opensearch/requests.ts'
import { TooltrailError } from '../domain/errors.ts'
import { SettingsError } from './settings/settings-error.ts'

/** Exit code of a mistake on the command line. */
export const MISUSED = 2

/** Exit code if no program responds at the given address. */
export const NOT_RUNNING = 3

/** No program responds at the address; the message names the address. */
export class NotRunning extends Error {
  override readonly name = 'NotRunning'
}

/** Whether `fetch` rejected because no program responds at the address. */
export const isUnreachable = (error: unknown): boolean => error instanceof TypeError && error.message === 'fetch failed'

/**
 * Returns the line to print for an error that the user can correct. Such errors concern settings, credentials,
 * permissions or the network.
 */
export function printable(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof NotRunning) return error.message
  if (!(error instanceof Error)) return undefined
  if (error.name === 'CredentialsProviderError')
    return `No AWS credentials were found: set AWS_PROFILE, or log in. (${error.message})`
  if (error.message === 'Region is missing') return 'No AWS region was found: set AWS_REGION.'
  if ('$fault' in error) return `AWS refused: ${error.name}: ${error.message}`
  if (error instanceof OpenSearchError && error.status === 403)
    return `${error.message} Is your role an operator of the environment? See "Operators" in docs/operations/README.md.`
  if (error instanceof OpenSearchError || error instanceof TooltrailError) return error.message
  if ('syscall' in error) return `Could not reach a service: ${error.message}`
  return undefined
}
