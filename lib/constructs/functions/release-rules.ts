import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { Alias } from 'aws-cdk-lib/aws-lambda'
import type { Handler } from '../../bundle.ts'
import { failed, MINUTE, sum, type AlarmRule } from '../monitoring/alarm-rule.ts'
import type { NodeFunction } from './node-function.ts'

/**
 * Limit of failures during the trial, in per cent of the new version's invocations or of the API's responses. With few
 * invocations or responses, a single failure exceeds the limit.
 */
const PERCENT = 5

interface Released {
  readonly name: string
  readonly environmentName: string
  readonly fn: NodeFunction
  readonly alias: Alias
}

/** Returns the alarms that roll back a new version of the function during its trial. */
export function releaseRules(handler: Handler, released: Released): AlarmRule[] {
  const { name, environmentName } = released
  const ownRules: Readonly<Record<Handler, readonly AlarmRule[]>> = {
    api: [serverErrors(name)],
    worker: [repeated('worker-release-hints', failed('FailedHints', environmentName, MINUTE), 'Hints')],
    indexer: [repeated('indexer-release-batches', failed('FailedBatches', environmentName, MINUTE), 'Batches')],
    sweeper: [],
  }
  return [versionErrors(handler, released), ...ownRules[handler]]
}

/**
 * Returns the alarm about errors of the new version only. So an existing failure does not block the deployment of its
 * fix.
 */
function versionErrors(handler: Handler, { fn, alias }: Released): AlarmRule {
  const of = (metricName: string): Metric =>
    new Metric({
      ...sum,
      namespace: 'AWS/Lambda',
      metricName,
      dimensionsMap: {
        FunctionName: fn.functionName,
        Resource: `${fn.functionName}:${alias.aliasName}`,
        ExecutedVersion: alias.version.version,
      },
    })
  return {
    name: `${handler}-release`,
    metric: new MathExpression({
      period: MINUTE,
      label: 'Per cent of invocations of the newest version that failed',
      expression: '100 * errors / invocations',
      usingMetrics: { errors: of('Errors'), invocations: of('Invocations') },
    }),
    at: PERCENT,
    times: 1,
    description:
      `At least ${PERCENT} % of the invocations of the newest version of the function ${handler} failed. While it is being ` +
      'deployed, this takes it back. Look for the error in its log.',
  }
}

const serverErrors = (apiName: string): AlarmRule => ({
  name: 'api-release-responses',
  metric: new MathExpression({
    period: MINUTE,
    label: 'Per cent of requests that got a 5xx',
    expression: '100 * rate',
    usingMetrics: {
      rate: new Metric({
        period: MINUTE,
        statistic: Stats.AVERAGE,
        namespace: 'AWS/ApiGateway',
        metricName: '5XXError',
        dimensionsMap: { ApiName: apiName },
      }),
    },
  }),
  at: PERCENT,
  times: 2,
  of: 3,
  description:
    `At least ${PERCENT} % of the responses of the API are 5xx. While the api is being deployed, this takes it back. Look ` +
    'for the request ids in the access log.',
})

const repeated = (name: string, metric: Metric, what: string): AlarmRule => ({
  name,
  metric,
  at: 1,
  times: 2,
  of: 3,
  description: `${what} fail minute after minute. While the function is being deployed, this takes it back. Look at its log.`,
})
