import { Duration } from 'aws-cdk-lib'
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import { failed, MINUTE, most, sum, type AlarmRule } from './alarm-rule.ts'
import { functionRules } from './function-alarms.ts'
import type { Tooltrail } from '../tooltrail.ts'

/** Returns the alarms that need a person's attention. */
export const alarmRules = (tooltrail: Tooltrail): AlarmRule[] => [
  ...queueRules(tooltrail),
  ...deliveryRules(tooltrail),
  ...indexRules(tooltrail),
  ...functionRules(tooltrail),
  ...tableRules(tooltrail),
  ...tooltrail.stores.search.alarmRules(),
]

/**
 * Returns the metric of the time between the storing of a message and its indexing, in milliseconds.
 * `functions/runtime/lambda/metrics.ts` measures this time.
 */
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
      times: 1,
      description:
        'Workers failed five times on the same hint. No run is lost: the sweeper finds its session again. ' +
        'Look for errors in the log of the worker, fix them, then: npm run redrive.',
    },
    {
      name: 'poison',
      metric: queue.indexDeadLetters.metricApproximateNumberOfMessagesVisible(most),
      at: 1,
      times: 1,
      description:
        'Messages that the search index refused for good: they cannot be found, but are in the log. The queue holds ' +
        'their keys and the reason. Fix it, then: npm run redrive.',
    },
    {
      name: 'oldest-hint',
      // The age of the oldest hint counts only while hints wait. Without waiting hints, the oldest hint is being
      // executed, which may normally take ten minutes.
      metric: new MathExpression({
        period: MINUTE,
        label: 'Seconds that the oldest hint has waited',
        expression: 'IF(waiting > 0, oldest, 0)',
        usingMetrics: {
          oldest: queue.queue.metricApproximateAgeOfOldestMessage(most),
          waiting: queue.queue.metricApproximateNumberOfMessagesVisible(most),
        },
      }),
      at: Duration.minutes(5).toSeconds(),
      times: 5,
      description:
        'Hints wait for more than 5 minutes: too few workers may run at once. Look at the throttles of the worker, and ' +
        'ask AWS to raise the limit of concurrent executions of the account.',
    },
  ]
}

/**
 * Returns the alarms about deliveries to Slack and to callback receivers. A failed delivery stays in the table as a
 * dead letter, which can be listed.
 */
function deliveryRules({ environmentName }: Tooltrail): AlarmRule[] {
  return [
    {
      name: 'failed-deliveries',
      metric: failed('FailedDeliveries', environmentName, Duration.minutes(5)),
      at: 1,
      times: 1,
      description:
        'A callback or a reply has failed for good: a receiver was down for a day or wants no more, or Slack refused. Look ' +
        'at GET /v1/callbacks?status=failed and at the log of the worker, then redeliver.',
    },
    {
      name: 'late-deliveries',
      metric: failed('LateDeliveries', environmentName, MINUTE),
      at: 1,
      times: 5,
      description:
        'Deliveries are due, and no worker takes them up although it got hints for five minutes. Look for errors in the log ' +
        'of the worker, and at its throttles.',
    },
    {
      name: 'missing-secrets',
      metric: failed('MissingSecrets', environmentName, Duration.minutes(5)),
      at: 1,
      times: 1,
      description:
        'agents.json names secrets that the secret of the deployment lacks: a webhook, a callback, Slack or an MCP server ' +
        'does not work. Look for their paths in the log of the api or the worker: npm run status shows them.',
    },
  ]
}

function indexRules({ functions: { indexer }, environmentName, stream }: Tooltrail): AlarmRule[] {
  return [
    {
      name: 'given-up',
      metric: stream.metricGivenUp(sum),
      at: 1,
      times: 1,
      of: 5,
      description:
        'Changes of the table were given up after six hours or 1,000 attempts: search finds their messages late or ' +
        'not at all. Look for errors in the log of the indexer, fix them, then: npm run redrive. What the bucket for failures ' +
        'did not take either is in the log alone: npm run rebuild.',
    },
    {
      name: 'iterator-age',
      metric: indexer.metric('IteratorAge', most),
      at: Duration.minutes(15).toMilliseconds(),
      times: 5,
      description:
        'The stream of the table is read with a delay of more than 15 minutes; after 6 hours records go to the bucket ' +
        'for failures. Look for errors in the log of the indexer, and at the search index: npm run status.',
    },
    {
      name: 'index-lag',
      metric: indexLag(environmentName),
      at: Duration.minutes(5).toMilliseconds(),
      times: 5,
      description:
        'Messages are found more than 5 minutes after they were stored. Look at the search index (npm run status) and ' +
        'the log of the indexer.',
    },
  ]
}

/** Returns the alarms about throttled reads and writes, which AWS counts separately for the table and each index. */
function tableRules({ stores: { table } }: Tooltrail): AlarmRule[] {
  const indexes = [undefined, ...table.indexes]
  const throttles = indexes.flatMap((index) =>
    ['Read', 'Write'].map(
      (work) =>
        new Metric({
          ...sum,
          namespace: 'AWS/DynamoDB',
          metricName: `${work}ThrottleEvents`,
          dimensionsMap: {
            TableName: table.table.tableName,
            ...(index === undefined ? {} : { GlobalSecondaryIndexName: index }),
          },
        }),
    ),
  )
  return [
    {
      name: 'table-throttles',
      metric: new MathExpression({
        period: MINUTE,
        label: 'Throttled reads and writes of the table',
        expression: 'SUM(FILL(METRICS(), 0))',
        usingMetrics: Object.fromEntries(throttles.map((metric, place) => [`m${place}`, metric])),
      }),
      at: 1,
      times: 3,
      of: 5,
      description:
        'The table throttles reads or writes, minute after minute; they are tried again, and fail in the end. Look ' +
        'for one session, or one tenant, with very much traffic, and at the quotas of the table.',
    },
  ]
}
