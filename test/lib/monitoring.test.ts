/* Evidence, cloud: Alarms that fill in missing values cover enough minutes that a late value is not treated as missing. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { matchesPattern } from '../deployed/cloud/services/event-pattern.ts'
import { environmentNamed, expectResource, ofType, synthesise, type Resource, type Synthesised } from './synthesise.ts'
import { variantOf } from './variants.ts'

const dev = synthesise(environmentNamed('dev'))
const lagAlarm = ofType(dev, 'AWS::CloudWatch::Alarm').find(
  ([, { Properties }]) => Properties['MetricName'] === 'IndexLag',
)?.[1]

interface Report {
  readonly namespace: string
  /** Names of the dimensions. */
  readonly dimensions: string[]
  readonly metrics: string[]
  readonly values: Record<string, unknown>
}

/**
 * Executes statements that call `functions/runtime/lambda/metrics.ts`. Returns the metrics of each line that they print for
 * CloudWatch.
 */
function emitted(statements: string): Report[] {
  const module = resolve(import.meta.dirname, '../../functions/runtime/lambda/metrics.ts')
  const code = `const metrics = await import(${JSON.stringify(module)}); ${statements}`
  const lines = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', stdio: 'pipe' })
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const values = JSON.parse(line) as Record<string, unknown> & {
        _aws: { CloudWatchMetrics: [{ Namespace: string; Dimensions: [string[]]; Metrics: { Name: string }[] }] }
      }
      const [{ Namespace: namespace, Dimensions, Metrics }] = values._aws.CloudWatchMetrics
      const metrics = Metrics.map(({ Name }) => Name)
      return { namespace, dimensions: Dimensions[0].toSorted(), metrics, values }
    })
}

test('the alarm of the index lag watches the metric and unit that the indexer emits', () => {
  const reported = emitted(`metrics.createLagMetric('dev')(1234)`)
  expect(reported).toHaveLength(1)
  const [{ namespace, dimensions, values }] = reported as [Report]
  const watched = lagAlarm?.Properties['Dimensions'] as { Name: string; Value: string }[]
  expect(lagAlarm?.Properties['Namespace']).toBe(namespace)
  expect(watched.map(({ Name }) => Name).toSorted()).toEqual(dimensions)
  for (const { Name, Value } of watched) expect(values[Name], Name).toBe(Value)
  expect(values['IndexLag']).toBe(1234)
  expect(lagAlarm?.Properties['Threshold']).toBe(5 * 60_000)
})

test('functions emit the metrics for all agents once per invocation, and the dashboard sums exactly these', () => {
  const reported = emitted(`
    const counted = metrics.createRunMetrics('dev', new Map([['default', {}]]))
    counted.observe({ type: 'message.completed', message: { agent: 'default', usage: {} } })
    counted.observe({ type: 'tool_call.completed', message: { agent: 'default', status: 'error' } })
    counted.observe({ type: 'run.failed', run: { agent: 'default' } })
    counted.flush()
    counted.flush()`)
  expect(reported).toHaveLength(1)
  const [{ namespace, dimensions, metrics }] = reported as [Report]
  const [, dashboard] = ofType(dev, 'AWS::CloudWatch::Dashboard')[0] ?? []
  const body = JSON.stringify(dashboard?.Properties['DashboardBody'])
  const shown = [...body.matchAll(/\{([\w,]+)\} MetricName=\\+"(\w+)\\+" environment=\\+"dev\\+"/g)]
  expect(shown.map(([, schema]) => schema)).toEqual(shown.map(() => [namespace, ...dimensions].join(',')))
  expect(new Set(shown.map(([, , name]) => name))).toEqual(new Set(metrics))
})

describe('the alarms', () => {
  test('notify one topic and state their meaning and the action', () => {
    const alarms = ofType(dev, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
    expect(alarms.map((alarm) => String(alarm['AlarmName'])).toSorted()).toEqual(
      [
        ...['dead-letters', 'poison', 'oldest-hint', 'given-up', 'iterator-age', 'index-lag', 'server-errors'],
        ...['failed-deliveries', 'late-deliveries', 'missing-secrets'],
        ...['failed-hints', 'failed-batches', 'sweeper-silence', 'table-throttles'],
        ...['search-capacity', 'indexing-capacity'],
        ...['api', 'worker', 'indexer', 'sweeper'].flatMap((name) => [`${name}-errors`, `${name}-throttles`]),
      ]
        .map((name) => `tooltrail-dev-${name}`)
        .toSorted(),
    )
    for (const alarm of alarms) {
      expect(alarm['AlarmActions'], String(alarm['AlarmName'])).toHaveLength(1)
      expect(String(alarm['AlarmDescription'])).toMatch(/[Ll]ook|[Ff]ix|Make|Use|Ask|Raise/)
    }
  })

  const alarmOf = (made: Synthesised, name: string): Resource['Properties'] =>
    ofType(made, 'AWS::CloudWatch::Alarm').find(([, { Properties }]) =>
      String(Properties['AlarmName']).endsWith(`-${name}`),
    )?.[1].Properties ?? {}

  test.each(['api', 'worker', 'indexer', 'sweeper'])(
    'of %s trigger above a failure rate of 5 percent, even if the invocation timed out',
    (name) => {
      const alarm = alarmOf(dev, `${name}-errors`)
      const [, fn] =
        ofType(dev, 'AWS::Lambda::Function').find(([id]) => id.toLowerCase().includes(`tooltrail${name}`)) ?? []
      const parts = alarm['Metrics'] as { Expression?: string; Period?: number; MetricStat?: { Period: number } }[]
      const [period = 0] = parts.flatMap(({ MetricStat }) => MetricStat?.Period ?? [])
      expect(parts.map(({ Expression }) => Expression)).toContain('100 * errors / invocations')
      expect([alarm['Threshold'], alarm['DatapointsToAlarm']]).toEqual([5, 1])
      expect(Number(alarm['EvaluationPeriods']) * period).toBeGreaterThan(Number(fn?.Properties['Timeout']))
    },
  )

  test.each([
    ['failed-hints', "createFailureMetric('dev', 'FailedHints')()"],
    ['failed-batches', "createFailureMetric('dev', 'FailedBatches')()"],
    ['failed-deliveries', "createFailureMetric('dev', 'FailedDeliveries')()"],
    ['late-deliveries', "createFailureMetric('dev', 'LateDeliveries')(3)"],
    ['missing-secrets', "createFailureMetric('dev', 'MissingSecrets')()"],
  ])('of %s watch the metric that the function emits', (name, statement) => {
    const [reported] = emitted(`metrics.${statement}`)
    const alarm = alarmOf(dev, name)
    expect([alarm['Namespace'], [alarm['MetricName']]]).toEqual([reported?.namespace, reported?.metrics])
    const watched = alarm['Dimensions'] as { Name: string; Value: string }[]
    expect(watched.map(({ Name }) => Name).toSorted()).toEqual(reported?.dimensions)
    for (const { Name, Value } of watched) expect(reported?.values[Name], Name).toBe(Value)
  })

  test('report a repeatedly failing hint long before it is a dead letter', () => {
    const queue = ofType(dev, 'AWS::SQS::Queue').find(([id]) => id.includes('RunsQueue'))?.[1].Properties ?? {}
    const hidden = Number(queue['VisibilityTimeout'])
    const { maxReceiveCount } = queue['RedrivePolicy'] as { maxReceiveCount: number }
    const { Threshold, Period } = alarmOf(dev, 'failed-hints')
    expect(Number(Threshold)).toBeLessThan(maxReceiveCount)
    expect(Number(Period)).toBeGreaterThan(hidden * (Number(Threshold) - 1))
    expect(hidden * maxReceiveCount).toBeLessThan(7_200)
  })

  test('report a missing sweep, which no other metric shows', () => {
    expect(alarmOf(dev, 'sweeper-silence')).toMatchObject({
      TreatMissingData: 'breaching',
      ComparisonOperator: 'LessThanOrEqualToThreshold',
      Threshold: 0,
      EvaluationPeriods: 5,
    })
    for (const [, { Properties }] of ofType(dev, 'AWS::CloudWatch::Alarm'))
      if (!String(Properties['AlarmName']).endsWith('sweeper-silence'))
        expect(Properties['TreatMissingData']).toBe('notBreaching')
  })

  test('watch the table and each of its indexes', () => {
    const [, table] = ofType(dev, 'AWS::DynamoDB::Table')[0] ?? []
    const indexes = table?.Properties['GlobalSecondaryIndexes'] as { IndexName: string }[]
    const parts = alarmOf(dev, 'table-throttles')['Metrics'] as {
      MetricStat?: { Metric: { MetricName: string; Dimensions: { Name: string; Value: unknown }[] } }
    }[]
    const watched = parts.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])
    const named = watched.map(
      ({ MetricName, Dimensions }) =>
        `${MetricName} ${String(Dimensions.find(({ Name }) => Name === 'GlobalSecondaryIndexName')?.Value)}`,
    )
    expect(named.toSorted()).toEqual(
      [undefined, ...indexes.map(({ IndexName }) => IndexName)]
        .flatMap((index) => [`ReadThrottleEvents ${index}`, `WriteThrottleEvents ${index}`])
        .toSorted(),
    )
  })

  test('watch the metrics that AWS recommends for a domain, and replicas only with several nodes', () => {
    const prod = synthesise(environmentNamed('prod'))
    const ofSearch = (made: Synthesised): string[] =>
      ofType(made, 'AWS::CloudWatch::Alarm').flatMap(([, { Properties }]) =>
        Properties['Namespace'] === 'AWS/ES' ? [String(Properties['MetricName'])] : [],
      )
    const always = ['ClusterStatus.red', 'FreeStorageSpace', 'ClusterIndexWritesBlocked', 'JVMMemoryPressure']
    expect(ofSearch(prod)).toEqual(expect.arrayContaining([...always, 'ClusterStatus.yellow']))
    expect(new Set(ofSearch(synthesise(variantOf('small'))))).toEqual(new Set(always))
    expect(alarmOf(prod, 'search-storage')).toMatchObject({ Threshold: (50 * 1_024) / 4, Statistic: 'Minimum' })
  })

  test('ignore a hint that a worker is handling', () => {
    const [, hint] =
      ofType(dev, 'AWS::CloudWatch::Alarm').find(([, { Properties }]) =>
        String(Properties['AlarmName']).endsWith('-oldest-hint'),
      ) ?? []
    const parts = hint?.Properties['Metrics'] as { Id: string; Expression?: string; MetricStat?: { Metric: object } }[]
    expect(parts.map(({ Expression }) => Expression)).toContain('IF(waiting > 0, oldest, 0)')
    expect(parts.find(({ Id }) => Id === 'waiting')?.MetricStat?.Metric).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
    })
  })

  test('report abandoned records, whether kept or dropped; Lambda counts these only on request', () => {
    const parts = alarmOf(dev, 'given-up')['Metrics'] as { MetricStat?: { Metric: { MetricName: string } } }[]
    expect(parts.flatMap(({ MetricStat }) => MetricStat?.Metric.MetricName ?? []).toSorted()).toEqual([
      'DroppedEventCount',
      'OnFailureDestinationDeliveredEventCount',
    ])
    const [, mapping] =
      ofType(dev, 'AWS::Lambda::EventSourceMapping').find(([, { Properties }]) => 'DestinationConfig' in Properties) ??
      []
    expect(mapping?.Properties['MetricsConfig']).toEqual({ Metrics: ['EventCount'] })
    const attempts = `${Number(mapping?.Properties['MaximumRetryAttempts']).toLocaleString('en-US')} attempts`
    expect(alarmOf(dev, 'given-up')['AlarmDescription']).toContain(attempts)
    const operations = readFileSync(resolve(import.meta.dirname, '../../docs/operations/alarms.md'), 'utf8')
    expect(operations.split('\n').find((line) => line.startsWith('| `given-up`'))).toContain(attempts)
  })

  test('that fill in missing values evaluate at least five minutes, so that one late value is harmless', () => {
    const filled = ofType(dev, 'AWS::CloudWatch::Alarm').filter(([, { Properties }]) =>
      JSON.stringify(Properties['Metrics'] ?? []).includes('FILL('),
    )
    expect(filled).toHaveLength(3)
    for (const [id, { Properties }] of filled) expect(Properties['EvaluationPeriods'], id).toBeGreaterThanOrEqual(5)
  })

  test('have a topic with its own policy that accepts only CloudWatch of this account', () => {
    const [, policy] = ofType(dev, 'AWS::SNS::TopicPolicy')[0] ?? []
    const { Statement } = (policy?.Properties['PolicyDocument'] ?? {}) as { Statement?: object[] }
    expect(Statement).toContainEqual(
      expect.objectContaining({
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: 'sns:Publish',
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      }),
    )
  })

  test('for the capacity limit of a collection are sent by OpenSearch Serverless itself', () => {
    const [, rule] = ofType(dev, 'AWS::Events::Rule').find(([id]) => id.includes('FullCollections')) ?? []
    const event = (detailType: string): object => ({
      version: '0',
      'detail-type': detailType,
      source: 'aws.aoss',
      detail: { description: 'Your search OCU usage has reached the configured maximum limit.' },
    })
    const { EventPattern: pattern, Targets: targets } = rule?.Properties ?? {}
    expect(matchesPattern(pattern, event('OCU Utilization Reached Max Limit'))).toBe(true)
    expect(matchesPattern(pattern, event('OCU Utilization Approaching Max Limit'))).toBe(false)
    const [target] = targets as [{ Arn: unknown; RoleArn: { 'Fn::GetAtt': [string] } }]
    const grants = ofType(dev, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
      JSON.stringify(Properties['Roles']).includes(target.RoleArn['Fn::GetAtt'][0]),
    )
    expect(grants.map(([, { Properties }]) => Properties['PolicyDocument'])).toMatchObject([
      { Statement: [{ Effect: 'Allow', Action: 'sns:Publish', Resource: target.Arn }] },
    ])
    const prod = ofType(synthesise(environmentNamed('prod')), 'AWS::Events::Rule')
    expect(prod.filter(([, { Properties }]) => 'EventPattern' in Properties)).toEqual([])
  })

  test('report costs near the budget, if one is set', () => {
    expect(ofType(dev, 'AWS::Budgets::Budget')).toEqual([])
    const [, budget] = ofType(synthesise(variantOf('mine')), 'AWS::Budgets::Budget')[0] ?? []
    expect(budget?.Properties['Budget']).toMatchObject({
      BudgetLimit: { Amount: 200, Unit: 'USD' },
      TimeUnit: 'MONTHLY',
    })
    const warnings = budget?.Properties['NotificationsWithSubscribers'] as { Subscribers: object[] }[]
    expect(warnings.map(({ Subscribers }) => Subscribers)).toEqual([
      [{ SubscriptionType: 'EMAIL', Address: 'oncall@example.com' }],
      [{ SubscriptionType: 'EMAIL', Address: 'oncall@example.com' }],
    ])
  })

  test('notify the address of the environment', () => {
    expectResource(synthesise(variantOf('small')).monitoring, 'AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    })
  })
})
