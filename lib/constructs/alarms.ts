import { Duration } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import { Construct } from 'constructs'
import type { Tooltrail } from './tooltrail.ts'

export interface AlarmsProps {
  readonly tooltrail: Tooltrail
  /** @default - the topic has no subscriber */
  readonly email?: string | undefined
}

interface Rule {
  readonly name: string
  readonly metric: IMetric
  /** The alarm goes off at this value. */
  readonly at: number
  /** Minutes in a row. */
  readonly minutes: number
  /** What it means, and what to do. */
  readonly description: string
}

const EVERY = Duration.minutes(1)

/** Goes off for what somebody has to look at. `docs/operations.md` says more about each, by its name. */
export class Alarms extends Construct {
  readonly topic: Topic
  readonly alarms: readonly Alarm[]

  constructor(scope: Construct, id: string, { tooltrail, email }: AlarmsProps) {
    super(scope, id)
    this.topic = new Topic(this, 'Topic', { displayName: `Alarms of ${tooltrail.name}`, enforceSSL: true })
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email))
    this.alarms = rules(tooltrail).map((rule) => this.#alarm(tooltrail.name, rule))
  }

  #alarm(environment: string, { name, metric, at, minutes, description }: Rule): Alarm {
    const alarm = new Alarm(this, name, {
      alarmName: `${environment}-${name}`,
      alarmDescription: description,
      metric,
      threshold: at,
      evaluationPeriods: minutes,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // No request, no hint, no record: nothing is wrong.
      treatMissingData: TreatMissingData.NOT_BREACHING,
    })
    alarm.addAlarmAction(new SnsAction(this.topic))
    alarm.addOkAction(new SnsAction(this.topic))
    return alarm
  }
}

/** Milliseconds between a message's storing and its indexing, as `functions/runtime/metrics.ts` tells it. */
export const indexLag = (environment: string): Metric =>
  new Metric({
    namespace: 'Tooltrail',
    metricName: 'IndexLag',
    dimensionsMap: { service: 'tooltrail', environment },
    statistic: Stats.MAXIMUM,
    period: EVERY,
  })

function rules(tooltrail: Tooltrail): Rule[] {
  const { queue } = tooltrail.stores
  const { functions } = tooltrail
  const visible = { period: EVERY, statistic: Stats.MAXIMUM }
  return [
    {
      name: 'dead-letters',
      metric: queue.deadLetters.metricApproximateNumberOfMessagesVisible(visible),
      at: 1,
      minutes: 1,
      description:
        "Workers failed five times on the same hint. No run is lost: the sweeper finds its session again. Look for errors in the worker's log, mend them, then: npm run redrive.",
    },
    {
      name: 'poison',
      metric: queue.poison.metricApproximateNumberOfMessagesVisible(visible),
      at: 1,
      minutes: 1,
      description:
        'Messages that the search index refused for good: they cannot be found, but are in the log. The queue holds their keys and the reason. Mend it, then: npm run redrive.',
    },
    {
      name: 'oldest-hint',
      metric: queue.queue.metricApproximateAgeOfOldestMessage(visible),
      at: 300,
      minutes: 5,
      description:
        'Hints wait for more than 5 minutes: too few workers may run at once, or all are busy. Look at the throttles and the concurrency of the worker, and the limit of the account.',
    },
    {
      name: 'iterator-age',
      metric: functions.indexer.metric('IteratorAge', { period: EVERY, statistic: Stats.MAXIMUM }),
      at: Duration.minutes(15).toMilliseconds(),
      minutes: 5,
      description:
        "The table's stream is read with a delay of more than 15 minutes; after 6 hours records go to the bucket for failures. Look for errors in the indexer's log, and at the search index.",
    },
    {
      name: 'index-lag',
      metric: indexLag(tooltrail.environmentName),
      at: Duration.minutes(5).toMilliseconds(),
      minutes: 5,
      description:
        "Messages are found more than 5 minutes after they were stored. Look at the search index (npm run status) and the indexer's log.",
    },
    {
      name: 'server-errors',
      metric: tooltrail.publicApi.rest.metricServerError({ period: EVERY, statistic: Stats.SUM }),
      at: 5,
      minutes: 3,
      description:
        "The API answered 5 and more requests a minute with 5xx. Look for errors in the api's log, by the request ids of the access log.",
    },
    ...Object.entries(functions).flatMap(([name, fn]): Rule[] => [
      {
        name: `${name}-errors`,
        metric: fn.metricErrors({ period: EVERY, statistic: Stats.SUM }),
        at: 3,
        minutes: 3,
        description: `The function ${name} failed or ran out of time or memory, 3 times a minute and more. What was under way is continued by others. Look for the error in its log.`,
      },
      {
        name: `${name}-throttles`,
        metric: fn.metricThrottles({ period: EVERY, statistic: Stats.SUM }),
        at: 1,
        minutes: 5,
        description: `Lambda had no room for the function ${name} for 5 minutes. Look at the limit of concurrent executions of the account, and have it raised.`,
      },
    ]),
  ]
}
