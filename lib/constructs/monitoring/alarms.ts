import { Stack } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { EventField, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events'
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets'
import { Effect, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import type { AlarmRule } from './alarm-rule.ts'
import { alarmRules } from './alarm-rules.ts'
import type { Tooltrail } from '../tooltrail.ts'

export interface AlarmsProps {
  readonly tooltrail: Tooltrail
  /** @default - the topic has no subscriber */
  readonly email?: string | undefined
}

/** Alarms for conditions that need a person's attention. `docs/operations/alarms.md` explains each one by name. */
export class Alarms extends Construct {
  readonly topic: Topic
  readonly alarms: readonly Alarm[]

  constructor(scope: Construct, id: string, { tooltrail, email }: AlarmsProps) {
    super(scope, id)
    this.topic = new Topic(this, 'Topic', { displayName: `Alarms of ${tooltrail.name}`, enforceSSL: true })
    // `enforceSSL` gives the topic its own policy. This policy replaces the default policy, which allows the account to
    // publish. So this statement allows CloudWatch to publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsOfThisAccount',
        effect: Effect.ALLOW,
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    )
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email))
    this.alarms = alarmRules(tooltrail).map((rule) => this.#alarm(tooltrail.name, rule))
    if (tooltrail.stores.search.kind === 'serverless') this.#alertOnFullCollections(tooltrail.name)
  }

  /**
   * Notifies the topic when OpenSearch Serverless reports 100 % of the maximum capacity. AWS documents no dimension for
   * the metrics of a collection group, so the alarms `search-capacity` and `indexing-capacity` may never be raised. The
   * events name no collection group, because they apply to the whole account
   * (docs.aws.amazon.com/opensearch-service/latest/developerguide/serverless-monitoring-events.html).
   */
  #alertOnFullCollections(environment: string): void {
    const said = EventField.fromPath('$.detail.description')
    new Rule(this, 'FullCollections', {
      description:
        'Tells the topic of alarms when a serverless collection of this account has reached its capacity limit',
      eventPattern: { source: ['aws.aoss'], detailType: ['OCU Utilization Reached Max Limit'] },
      targets: [
        // The rule publishes with its own role. If the topic itself allowed EventBridge to publish, it would accept
        // rules of every account.
        new SnsTopic(this.topic, {
          authorizeUsingRole: true,
          message: RuleTargetInput.fromText(
            `${environment}: OpenSearch Serverless says of this account, at ${EventField.time}: ${said} If this is the collection of ` +
              'this environment, it responds late, or refuses requests. Raise `search.maxCapacity` in lib/environments.ts, or find out ' +
              'who sends so many requests.',
          ),
        }),
      ],
    })
  }

  #alarm(environment: string, rule: AlarmRule): Alarm {
    const { name, metric, at, side = 'above', times, of = times, silent = false, description } = rule
    const alarm = new Alarm(this, name, {
      alarmName: `${environment}-${name}`,
      alarmDescription: description,
      metric,
      threshold: at,
      evaluationPeriods: of,
      datapointsToAlarm: times,
      comparisonOperator:
        side === 'above'
          ? ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
          : ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
      // Missing data are normal, because there may be no requests, hints or records. Only an alarm that is `silent` is
      // raised by missing data.
      treatMissingData: silent ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    })
    alarm.addAlarmAction(new SnsAction(this.topic))
    alarm.addOkAction(new SnsAction(this.topic))
    return alarm
  }
}
