import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { environmentNamed, expectResource, ofType, synthesise } from './synthesise.ts'
import { variantOf } from './variants.ts'

// Bundles and templates take their time where others work at the same machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const dev = synthesise(environmentNamed('dev'))
const lagAlarm = ofType(dev, 'AWS::CloudWatch::Alarm').find(
  ([, { Properties }]) => Properties['MetricName'] === 'IndexLag',
)?.[1]

interface Told {
  readonly namespace: string
  /** Names of the dimensions. */
  readonly dimensions: string[]
  readonly metrics: string[]
  readonly values: Record<string, unknown>
}

/** What CloudWatch is told by these statements on `functions/runtime/lambda/metrics.ts`, a line each. */
function emitted(statements: string): Told[] {
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

test('the alarm of the index lag watches the very metric that the indexer tells, in its unit', () => {
  const told = emitted(`metrics.createLagMetric('dev')(1234)`)
  expect(told).toHaveLength(1)
  const [{ namespace, dimensions, values }] = told as [Told]
  const watched = lagAlarm?.Properties['Dimensions'] as { Name: string; Value: string }[]
  expect(lagAlarm?.Properties['Namespace']).toBe(namespace)
  expect(watched.map(({ Name }) => Name).toSorted()).toEqual(dimensions)
  for (const { Name, Value } of watched) expect(values[Name], Name).toBe(Value)
  expect(values['IndexLag']).toBe(1234)
  expect(lagAlarm?.Properties['Threshold']).toBe(5 * 60_000)
})

test('the dashboard adds up the very metrics of all agents that functions tell, which is once an invocation', () => {
  const told = emitted(`
    const counted = metrics.createRunMetrics('dev', new Map([['default', {}]]))
    counted.observe({ type: 'message.completed', message: { agent: 'default', usage: {} } })
    counted.observe({ type: 'tool_call.completed', message: { agent: 'default', status: 'error' } })
    counted.observe({ type: 'run.failed', run: { agent: 'default' } })
    counted.flush()
    counted.flush()`)
  expect(told).toHaveLength(1)
  const [{ namespace, dimensions, metrics }] = told as [Told]
  const [, dashboard] = ofType(dev, 'AWS::CloudWatch::Dashboard')[0] ?? []
  const body = JSON.stringify(dashboard?.Properties['DashboardBody'])
  const shown = [...body.matchAll(/\{([\w,]+)\} MetricName=\\+"(\w+)\\+" environment=\\+"dev\\+"/g)]
  expect(shown.map(([, schema]) => schema)).toEqual(shown.map(() => [namespace, ...dimensions].join(',')))
  expect(new Set(shown.map(([, , name]) => name))).toEqual(new Set(metrics))
})

describe('the alarms', () => {
  test('go to one topic, and say what they mean and what to do', () => {
    const alarms = ofType(dev, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
    expect(alarms.map((alarm) => String(alarm['AlarmName'])).toSorted()).toEqual(
      [
        ...['dead-letters', 'poison', 'oldest-hint', 'given-up', 'iterator-age', 'index-lag', 'server-errors'],
        ...['api', 'worker', 'indexer', 'sweeper'].flatMap((name) => [`${name}-errors`, `${name}-throttles`]),
      ]
        .map((name) => `tooltrail-dev-${name}`)
        .toSorted(),
    )
    for (const alarm of alarms) {
      expect(alarm['AlarmActions'], String(alarm['AlarmName'])).toHaveLength(1)
      expect(String(alarm['AlarmDescription'])).toMatch(/Look|Mend|Have|mend/)
    }
  })

  test('do not take a hint that a worker is at for one that waits', () => {
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

  test('tell of records that were given up, which Lambda counts only where it is asked to', () => {
    const [, mapping] =
      ofType(dev, 'AWS::Lambda::EventSourceMapping').find(([, { Properties }]) => 'DestinationConfig' in Properties) ??
      []
    expect(mapping?.Properties['MetricsConfig']).toEqual({ Metrics: ['EventCount'] })
  })

  test('may be published in their topic by CloudWatch, for this account alone, although the topic has a policy of its own', () => {
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

  test('reach the address of the environment', () => {
    expectResource(synthesise(variantOf('small')).monitoring, 'AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    })
  })
})
