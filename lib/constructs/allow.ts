import { Validations } from 'aws-cdk-lib'
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import { Construct } from 'constructs'

interface Right {
  readonly actions: readonly string[]
  readonly resources: readonly string[]
  /** Why a resource ends in `*`. `test/infra/permissions.test.ts` knows every one of them. */
  readonly because?: string
}

/** Grants exactly these actions on exactly these resources. */
export function allow({ grantPrincipal }: IGrantable, { actions, resources, because }: Right): void {
  grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({ effect: Effect.ALLOW, actions: [...actions], resources: [...resources] }),
  )
  if (because !== undefined && grantPrincipal instanceof Construct)
    Validations.of(grantPrincipal).acknowledge({ id: 'AwsSolutions-IAM5', reason: because })
}
