import { EnvironmentError, type Environment } from './environments.ts'

/** Value of the output `EncryptionKey` if AWS's own keys are used. */
export const NO_KEY = 'none'

/** Outputs of a deployed search stack, by name. */
export type DeployedOutputs = Readonly<Record<string, string>>

/**
 * Throws `EnvironmentError` for changes of settings that AWS cannot make in place. `deployed`: the outputs of the
 * deployed search stack; undefined before the first deployment.
 */
export function checkFixedSettings({ name, encryptionKey, search }: Environment, deployed?: DeployedOutputs): void {
  const before = deployed?.['EncryptionKey']
  const after = encryptionKey ?? NO_KEY
  if (before === undefined || before === after || deployed?.['SearchKind'] !== search.kind) return
  throw new EnvironmentError(
    `${name}.encryptionKey: is ${after === NO_KEY ? 'left out' : after}, and the deployed index is encrypted with ${before === NO_KEY ? 'a key of AWS' : before}. AWS encrypts a ` +
      `${search.kind === 'domain' ? 'domain' : 'collection'} with one key for good, and its name is taken. Set the key back, or deploy ` +
      'an environment of another name and move to it',
  )
}
