import { Validations } from 'aws-cdk-lib'
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import { Construct } from 'constructs'
import { wildcardId } from '../checks.ts'

interface Right {
  readonly actions: readonly string[]
  readonly resources: readonly string[]
  /**
   * Conditions of the statement.
   * @default - none
   */
  readonly conditions?: Readonly<Record<string, object>>
  /**
   * The reason why the resources contain a `*`.
   * @default - no resource contains a `*`
   */
  readonly because?: string
}

/** Grants exactly these actions on exactly these resources. */
export function allow({ grantPrincipal }: IGrantable, { actions, resources, conditions = {}, because }: Right): void {
  grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({ effect: Effect.ALLOW, actions: [...actions], resources: [...resources], conditions }),
  )
  if (because === undefined || !(grantPrincipal instanceof Construct)) return
  for (const resource of resources)
    if (resource.includes('*'))
      Validations.of(grantPrincipal).acknowledge({ id: wildcardId(resource), reason: because })
}
