import { EnvironmentError, type Environment } from './environments.ts'

/**
 * Throws `EnvironmentError` for what is named by an ARN of another region than that of the stacks: AWS would refuse it in the middle of
 * a deployment.
 */
export function checkRegions(environment: Environment, region: string): void {
  const { name, encryptionKey, customDomain, restoredTable } = environment
  const named = {
    encryptionKey,
    'customDomain.certificate': customDomain?.certificate,
    'restoredTable.stream': restoredTable?.stream,
  }
  for (const [setting, arn] of Object.entries(named)) {
    const own = arn?.split(':')[3] ?? region
    if (own !== region)
      throw new EnvironmentError(
        `${name}.${setting}: is in ${own}, and the environment in ${region}: they must be in one`,
      )
  }
}
