import { Duration, Validations } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
  TrafficRouting,
} from 'aws-cdk-lib/aws-codedeploy'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Alias } from 'aws-cdk-lib/aws-lambda'
import type { IFunction, IVersion } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Handler } from '../../bundle.ts'
import type { AlarmRule } from '../monitoring/alarm-rule.ts'
import type { BackendFunctions } from './backend-functions.ts'
import { releaseRules } from './release-rules.ts'

/**
 * `percent`: share of the work that a new version gets at first. `minutes`: duration of this trial. `off`: the new
 * version gets all work at once.
 */
export type Canary = 'off' | { readonly percent: number; readonly minutes: number }

export interface ReleaseProps {
  /** Prefix of the names of alarms. */
  readonly name: string
  /** Name that distinguishes the metrics of this environment from those of others. */
  readonly environmentName: string
  readonly functions: BackendFunctions
  readonly canary: Canary
  /**
   * Number of API processes that are started in advance.
   * @default - none
   */
  readonly provisionedConcurrency?: number | undefined
}

/**
 * Name of the alias that each function has. Callers use the alias, so that a new version can be tried on a part of the
 * work.
 */
const ALIAS = 'live'

/**
 * Aliases of the functions. CodeDeploy moves an alias to a new version: first for a part of the work, then for all of
 * it. If an alarm is raised during the trial, CodeDeploy moves the alias back.
 */
export class Release extends Construct {
  /** The functions to call, by handler. */
  readonly aliases: Readonly<Record<Handler, IFunction>>

  constructor(scope: Construct, id: string, props: ReleaseProps) {
    super(scope, id)
    const { functions, canary, provisionedConcurrency } = props
    const aliasOf = (handler: Handler, provisioned?: number): Alias => {
      const { currentVersion: version, asynchronous } = functions[handler]
      return new Alias(this, `${functions[handler].node.id}Alias`, {
        aliasName: ALIAS,
        version: version as IVersion,
        ...asynchronous,
        ...(provisioned === undefined ? {} : { provisionedConcurrentExecutions: provisioned }),
      })
    }
    const aliases = {
      api: aliasOf('api', provisionedConcurrency),
      worker: aliasOf('worker'),
      indexer: aliasOf('indexer'),
      sweeper: aliasOf('sweeper'),
    }
    this.aliases = aliases as Record<Handler, IFunction>
    if (canary !== 'off') this.#shift(aliases, props, canary)
  }

  #shift(
    aliases: Readonly<Record<Handler, Alias>>,
    { name, environmentName, functions }: ReleaseProps,
    { percent, minutes }: Exclude<Canary, 'off'>,
  ): void {
    const application = new LambdaApplication(this, 'Application')
    const deploymentConfig = new LambdaDeploymentConfig(this, 'Canary', {
      trafficRouting: TrafficRouting.timeBasedCanary({ percentage: percent, interval: Duration.minutes(minutes) }),
    })
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') })
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]',
      reason: 'What CodeDeploy needs for functions is its own business: AWS has one policy for it.',
    })
    for (const [handler, alias] of Object.entries(aliases) as [Handler, Alias][]) {
      const fn = functions[handler]
      const rules = releaseRules(handler, { name, environmentName, fn, alias })
      new LambdaDeploymentGroup(this, `${fn.node.id}Group`, {
        application,
        alias,
        deploymentConfig,
        role,
        alarms: rules.map((rule) => this.#alarm(name, rule)),
        autoRollback: { failedDeployment: true, stoppedDeployment: true, deploymentInAlarm: true },
      })
    }
  }

  /** Creates an alarm without a topic. CodeDeploy watches the alarm, and reports it to the person who deploys. */
  #alarm(environment: string, { name, metric, at, times, of = times, description }: AlarmRule): Alarm {
    return new Alarm(this, name, {
      alarmName: `${environment}-${name}`,
      alarmDescription: description,
      metric,
      threshold: at,
      evaluationPeriods: of,
      datapointsToAlarm: times,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    })
  }
}
