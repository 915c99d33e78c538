import { Duration } from 'aws-cdk-lib'
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import { failed, MINUTE, sum, type AlarmRule } from './alarm-rule.ts'
import type { NodeFunction } from '../functions/node-function.ts'
import type { Tooltrail } from '../tooltrail.ts'

const period = Duration.minutes(5)
/**
 * Number of values to consider. A failure counts at the start time of its invocation, which may be 15 minutes in the
 * past.
 */
const LATE = 4
/**
 * Limit of failures, in per cent of invocations or requests. With few invocations or requests, a single failure exceeds
 * the limit.
 */
const PERCENT = 5

/** Returns the alarms of the four functions and of the API. */
export function functionRules(tooltrail: Tooltrail): AlarmRule[] {
  const { functions, publicApi } = tooltrail
  return [
    {
      name: 'server-errors',
      metric: new MathExpression({
        period,
        label: 'Per cent of requests that got a 5xx',
        expression: '100 * rate',
        usingMetrics: { rate: publicApi.rest.metricServerError({ period, statistic: Stats.AVERAGE }) },
      }),
      at: PERCENT,
      times: 1,
      description:
        `At least ${PERCENT} % of the responses of the API are 5xx. Look for errors in the log of the api, by the request ids ` +
        'of the access log.',
    },
    ...repeatedRules(tooltrail),
    silentSweeper(functions.sweeper),
    ...Object.entries(functions).flatMap(([name, fn]) => [errorRate(name, fn), throttles(name, fn)]),
  ]
}

const errorRate = (name: string, fn: NodeFunction): AlarmRule => ({
  name: `${name}-errors`,
  metric: new MathExpression({
    period,
    label: 'Per cent of invocations that failed',
    expression: '100 * errors / invocations',
    usingMetrics: {
      errors: fn.metricErrors({ period, statistic: Stats.SUM }),
      invocations: fn.metricInvocations({ period, statistic: Stats.SUM }),
    },
  }),
  at: PERCENT,
  times: 1,
  of: LATE,
  description:
    `At least ${PERCENT} % of the invocations of the function ${name} failed, or ran out of time or memory. What was under ` +
    'way is continued by others. Look for the error in its log.',
})

const throttles = (name: string, fn: NodeFunction): AlarmRule => ({
  name: `${name}-throttles`,
  metric: fn.metricThrottles(sum),
  at: 1,
  times: 5,
  description:
    `Lambda had no room for the function ${name} for 5 minutes. Ask AWS to raise the limit of concurrent executions ` +
    'of the account.',
})

const repeatedRules = ({ environmentName }: Tooltrail): AlarmRule[] => [
  {
    name: 'failed-hints',
    metric: failed('FailedHints', environmentName, Duration.hours(1)),
    at: 2,
    times: 1,
    description:
      'Workers failed on hints, which come again after 16 minutes and become dead letters at the third time. No run is ' +
      'lost. Look for "serving a hint failed" in the log of the worker.',
  },
  {
    name: 'failed-batches',
    metric: failed('FailedBatches', environmentName, MINUTE),
    at: 1,
    times: 5,
    of: 15,
    description:
      'The indexer fails on the same records again and again: search does not find what was said since. Look for the error ' +
      'in its log, and at the search index: npm run status.',
  },
]

const silentSweeper = (sweeper: NodeFunction): AlarmRule => ({
  name: 'sweeper-silence',
  metric: new MathExpression({
    period: MINUTE,
    label: 'Sweeps that succeeded',
    expression: 'FILL(begun, 0) - FILL(failed, 0)',
    usingMetrics: { begun: sweeper.metricInvocations(sum), failed: sweeper.metricErrors(sum) },
  }),
  at: 0,
  side: 'below',
  times: 5,
  silent: true,
  description:
    'No sweep succeeded for 5 minutes: lost hints stay lost, and deleted sessions stay where they are. Look at the log of ' +
    'the sweeper, and whether its rule is enabled.',
})
