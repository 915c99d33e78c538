import { Duration } from 'aws-cdk-lib'
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Tooltrail } from './tooltrail.ts'

export interface AlarmRule {
  /** `docs/operations.md` explains it by this name. */
  readonly name: string
  /** One value a minute. */
  readonly metric: IMetric
  /** The alarm goes off at this value. */
  readonly at: number
  /** In a row. */
  readonly minutes: number
  /** What it means, and what to do. */
  readonly description: string
}

const period = Duration.minutes(1)
const most = { period, statistic: Stats.MAXIMUM }
const sum = { period, statistic: Stats.SUM }

/** What somebody has to look at. */
export const alarmRules = (tooltrail: Tooltrail): AlarmRule[] => [
  ...queueRules(tooltrail),
  ...indexRules(tooltrail),
  ...functionRules(tooltrail),
]

/** Milliseconds between a message's storing and its indexing, as `functions/runtime/lambda/metrics.ts` tells it. */
export const indexLag = (environment: string): Metric =>
  new Metric({
    ...most,
    namespace: 'Tooltrail',
    metricName: 'IndexLag',
    dimensionsMap: { service: 'tooltrail', environment },
  })

function queueRules({ stores: { queue } }: Tooltrail): AlarmRule[] {
  return [
    {
      name: 'dead-letters',
      metric: queue.deadLetters.metricApproximateNumberOfMessagesVisible(most),
      at: 1,
      minutes: 1,
      description:
        'Workers failed five times on the same hint. No run is lost: the sweeper finds its session again. ' +
        'Look for errors in the log of the worker, mend them, then: npm run redrive.',
    },
    {
      name: 'poison',
      metric: queue.poison.metricApproximateNumberOfMessagesVisible(most),
      at: 1,
      minutes: 1,
      description:
        'Messages that the search index refused for good: they cannot be found, but are in the log. The queue holds ' +
        'their keys and the reason. Mend it, then: npm run redrive.',
    },
    {
      name: 'oldest-hint',
      // The oldest hint may be one that a worker has been at for ten minutes, which is as it should be: none waits then.
      metric: new MathExpression({
        period,
        label: 'Seconds that the oldest hint has waited',
        expression: 'IF(waiting > 0, oldest, 0)',
        usingMetrics: {
          oldest: queue.queue.metricApproximateAgeOfOldestMessage(most),
          waiting: queue.queue.metricApproximateNumberOfMessagesVisible(most),
        },
      }),
      at: Duration.minutes(5).toSeconds(),
      minutes: 5,
      description:
        'Hints wait for more than 5 minutes: too few workers may run at once. Look at the throttles of the worker, and ' +
        'have the limit of concurrent executions of the account raised.',
    },
  ]
}

function indexRules({ functions: { indexer }, environmentName, stream }: Tooltrail): AlarmRule[] {
  return [
    {
      name: 'given-up',
      metric: stream.metricGivenUp(sum),
      at: 1,
      minutes: 1,
      description:
        'Changes of the table were given up after six hours or a hundred attempts: what they were about is found late or ' +
        'not at all. Look for errors in the log of the indexer, mend them, then: npm run redrive.',
    },
    {
      name: 'iterator-age',
      metric: indexer.metric('IteratorAge', most),
      at: Duration.minutes(15).toMilliseconds(),
      minutes: 5,
      description:
        'The stream of the table is read with a delay of more than 15 minutes; after 6 hours records go to the bucket ' +
        'for failures. Look for errors in the log of the indexer, and at the search index: npm run status.',
    },
    {
      name: 'index-lag',
      metric: indexLag(environmentName),
      at: Duration.minutes(5).toMilliseconds(),
      minutes: 5,
      description:
        'Messages are found more than 5 minutes after they were stored. Look at the search index (npm run status) and ' +
        'the log of the indexer.',
    },
  ]
}

function functionRules({ functions, publicApi }: Tooltrail): AlarmRule[] {
  const ofEach = Object.entries(functions).flatMap(([name, fn]): AlarmRule[] => [
    {
      name: `${name}-errors`,
      metric: fn.metricErrors(sum),
      at: 3,
      minutes: 3,
      description:
        `The function ${name} failed, or ran out of time or memory, 3 times a minute and more. What was under way is ` +
        'continued by others. Look for the error in its log.',
    },
    {
      name: `${name}-throttles`,
      metric: fn.metricThrottles(sum),
      at: 1,
      minutes: 5,
      description:
        `Lambda had no room for the function ${name} for 5 minutes. Have the limit of concurrent executions of the ` +
        'account raised.',
    },
  ])
  return [
    {
      name: 'server-errors',
      metric: publicApi.rest.metricServerError(sum),
      at: 5,
      minutes: 3,
      description:
        'The API answered 5 requests a minute and more with 5xx. Look for errors in the log of the api, by the request ' +
        'ids of the access log.',
    },
    ...ofEach,
  ]
}
