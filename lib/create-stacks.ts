import { Tags, Validations } from 'aws-cdk-lib'
import type { App, Environment as Place } from 'aws-cdk-lib'
import { ManagedPolicy, PermissionsBoundary } from 'aws-cdk-lib/aws-iam'
import { AppStack } from './app-stack.ts'
import { HouseChecks } from './checks.ts'
import { DataStack } from './data-stack.ts'
import { EnvironmentError, type Environment } from './environments.ts'
import { MonitoringStack } from './monitoring-stack.ts'
import { SearchStack } from './search-stack.ts'

/**
 * Types of resources whose tags CloudFormation sets only at creation. Changed tags would require a new resource, which
 * AWS could not create, because the fixed name is in use. A collection therefore has no tags; its group has them.
 */
const TAGGED_ONCE = ['AWS::OpenSearchServerless::Collection']

/** Creates the four stacks of an environment. cdk-nag checks them during synthesis. */
export function createStacks(app: App, environment: Environment, deployer: Place = {}) {
  const account = environment.account ?? deployer.account
  const region = environment.region ?? deployer.region
  const env = {
    ...(account === undefined ? {} : { account }),
    ...(region === undefined ? {} : { region }),
  }
  if (region !== undefined) checkRegions(environment, region)
  const { name } = environment
  // All four stacks are protected against deletion. `cdk destroy --all` begins with the stacks of monitoring and the
  // API. Without protection, the command would delete these two before it fails at the others.
  const common = { environment, env, terminationProtection: environment.retain }
  const data = new DataStack(app, `tooltrail-${name}-data`, {
    ...common,
    description: `Tooltrail ${name}: log and outputs`,
  })
  const search = new SearchStack(app, `tooltrail-${name}-search`, {
    ...common,
    description: `Tooltrail ${name}: history index`,
  })
  const main = new AppStack(app, `tooltrail-${name}-app`, {
    ...common,
    description: `Tooltrail ${name}: API, workers, indexer, sweeper`,
    data,
    search,
  })
  const monitoring = new MonitoringStack(app, `tooltrail-${name}-monitoring`, {
    ...common,
    description: `Tooltrail ${name}: dashboard and alarms`,
    app: main,
  })
  const { permissionsBoundary } = environment
  if (permissionsBoundary !== undefined)
    for (const stack of [data, search, main, monitoring])
      PermissionsBoundary.of(stack).apply(ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', permissionsBoundary))
  for (const [tag, value] of Object.entries(environment.tags))
    Tags.of(app).add(tag, value, { excludeResourceTypes: TAGGED_ONCE })
  Tags.of(app).add('tooltrail:environment', name)
  Validations.of(app).addPlugins(new HouseChecks(app))
  return { data, search, app: main, monitoring }
}

/**
 * Throws `EnvironmentError` if an ARN is not in the stacks' region. AWS would reject such an ARN in the
 * middle of a deployment.
 */
function checkRegions(environment: Environment, region: string): void {
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
