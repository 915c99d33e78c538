import { Duration } from 'aws-cdk-lib'
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { IMetric } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { indexLag } from './alarm-rules.ts'
import type { Alarms } from './alarms.ts'
import { failed } from './alarm-rule.ts'
import type { Tooltrail } from '../tooltrail.ts'

const MINUTE = { period: Duration.minutes(1) }

/** A dashboard that shows the state of an environment. */
export class StatusDashboard extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { tooltrail, alarms }: { readonly tooltrail: Tooltrail; readonly alarms: Alarms },
  ) {
    super(scope, id)
    const { queue } = tooltrail.stores
    const { rest } = tooltrail.publicApi
    const functions = Object.values(tooltrail.functions)
    const { environmentName: environment } = tooltrail
    /** Sums a metric over all agents, because each agent has its own metric. */
    const ofAgents = (metricName: string): MathExpression =>
      new MathExpression({
        ...MINUTE,
        label: metricName,
        expression: `SUM(SEARCH('{Tooltrail,agent,environment,service} MetricName="${metricName}" environment="${environment}"', 'Sum', 60))`,
      })
    const dashboard = new Dashboard(this, 'Page', { dashboardName: tooltrail.name })
    dashboard.addWidgets(
      new AlarmStatusWidget({ title: 'Alarms', width: 24, height: 3, alarms: [...alarms.alarms] }),
      graph('Requests', [rest.metricCount(MINUTE), rest.metricClientError(MINUTE), rest.metricServerError(MINUTE)]),
      firstBytes(tooltrail.publicApi.accessLogs.logGroupName),
      graph('Milliseconds to the last byte', [
        rest.metricIntegrationLatency({ ...MINUTE, statistic: 'p50' }),
        rest.metricIntegrationLatency({ ...MINUTE, statistic: 'p99' }),
      ]),
      graph('Turns, rounds, tool errors', ['Turns', 'FailedTurns', 'Rounds', 'ToolErrors'].map(ofAgents)),
      graph('Tokens', ['InputTokens', 'OutputTokens'].map(ofAgents)),
      graph('Hints', [
        queue.queue.metricApproximateNumberOfMessagesVisible(MINUTE),
        queue.queue.metricApproximateNumberOfMessagesNotVisible(MINUTE),
        queue.deadLetters.metricApproximateNumberOfMessagesVisible(MINUTE),
        queue.indexDeadLetters.metricApproximateNumberOfMessagesVisible(MINUTE),
      ]),
      graph('Hints and batches that failed, and come again', [
        failed('FailedHints', environment, MINUTE.period),
        failed('FailedBatches', environment, MINUTE.period),
      ]),
      graph('Milliseconds until found', [indexLag(environment)]),
      graph('Functions: errors and throttles', [
        ...functions.map((fn) => fn.metricErrors(MINUTE)),
        ...functions.map((fn) => fn.metricThrottles(MINUTE)),
      ]),
      graph(
        'Functions: at once',
        functions.map((fn) => fn.metric('ConcurrentExecutions', { ...MINUTE, statistic: Stats.MAXIMUM })),
      ),
    )
  }
}

/** Reads the access log, because API Gateway has no metric for the time to the first byte. */
const firstBytes = (accessLogs: string): LogQueryWidget =>
  new LogQueryWidget({
    title: 'Milliseconds to the first byte',
    logGroupNames: [accessLogs],
    view: LogQueryVisualizationType.LINE,
    queryLines: [
      "filter ispresent(firstByteMilliseconds) and firstByteMilliseconds != '-'",
      'stats pct(firstByteMilliseconds, 50) as p50, pct(firstByteMilliseconds, 99) as p99 by bin(1m)',
    ],
    width: 12,
    height: 6,
  })

const graph = (title: string, left: IMetric[]): GraphWidget => new GraphWidget({ title, left, width: 12, height: 6 })
