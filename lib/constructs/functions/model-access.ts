import { RemovalPolicy, SecretValue, Stack, Token, Validations } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'
import { checkBedrockRegion } from '../../bedrock-region.ts'
import { allow } from '../allow.ts'
import { grantKeyUse } from '../key-use.ts'

export interface ModelAccessProps {
  /** Every `provider/model` that an agent uses. */
  readonly models: readonly string[]
  /**
   * Keeps the keys when the stack is deleted.
   * @default true
   */
  readonly retain?: boolean
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
}

/**
 * Matches an inference profile that covers several regions. The profile's name begins with the name of the regions'
 * area, followed by the model's name.
 */
const PROFILE = /^(us|us-gov|eu|apac|jp|au|ca|sa|global)\./
/** Matches an inference profile of the operator, whose name does not contain the model's name. */
const OWN_PROFILE = /:(application-)?inference-profile\//
const CALLS = ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream']

/**
 * Grants access to models: by a secret with the keys of providers, and by the function's role for models of Bedrock.
 */
export class ModelAccess extends Construct {
  readonly secret: Secret
  readonly #models: readonly string[]
  readonly #key: IKey | undefined

  constructor(scope: Construct, id: string, { models, retain = true, encryptionKey }: ModelAccessProps) {
    super(scope, id)
    this.#models = [...new Set(models)].flatMap((model) => /^(?:amazon-)?bedrock\/(.+)$/.exec(model)?.[1] ?? [])
    this.#key = encryptionKey
    const { region } = Stack.of(this)
    // If the stack names no region, the region is unknown until deployment.
    if (!Token.isUnresolved(region)) for (const model of this.#models) checkBedrockRegion(model, region)
    this.secret = new Secret(this, 'Keys', {
      description: 'Keys of model providers: a JSON object such as {"ANTHROPIC_API_KEY": "…"}',
      // The initial value is not secret. People add the keys later, and deployments do not change the value.
      secretStringValue: SecretValue.unsafePlainText('{}'),
      removalPolicy: retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      ...(encryptionKey === undefined ? {} : { encryptionKey }),
    })
    Validations.of(this.secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'Only the providers can make a new key, so people rotate it: functions read a changed secret within minutes.',
    })
  }

  /** Grants calls of the models that agents use, and of no others. */
  grantModels(grantee: IGrantable): void {
    allow(grantee, { actions: ['secretsmanager:GetSecretValue'], resources: [this.secret.secretArn] })
    grantKeyUse(this.#key, grantee)
    const resources = this.#models.flatMap((model) => this.#arns(model))
    if (resources.length === 0) return
    allow(grantee, {
      actions: CALLS,
      resources,
      because: 'An inference profile sends requests to its model in any of its regions, and AWS may add regions.',
    })
    const own = this.#models.filter((model) => OWN_PROFILE.test(model))
    if (own.length === 0) return
    allow(grantee, {
      actions: CALLS,
      resources: [`arn:${Stack.of(this).partition}:bedrock:*::foundation-model/*`],
      conditions: { StringEquals: { 'bedrock:InferenceProfileArn': own } },
      because: 'Only the profile knows its model, and the right holds through the profile alone.',
    })
  }

  /**
   * Returns the ARNs of a model. To call an inference profile, a role needs the right to the profile, and to its model
   * in each region that may receive the request.
   */
  #arns(model: string): string[] {
    if (model.startsWith('arn:')) return [model]
    const { partition, region } = Stack.of(this)
    if (!PROFILE.test(model)) return [`arn:${partition}:bedrock:${region}::foundation-model/${model}`]
    return [
      Stack.of(this).formatArn({ service: 'bedrock', resource: 'inference-profile', resourceName: model }),
      `arn:${partition}:bedrock:*::foundation-model/${model.replace(PROFILE, '')}`,
    ]
  }
}
