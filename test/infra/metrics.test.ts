import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { readEnvironment } from '../../lib/environments.ts'
import { ofType, synthesise } from './synthesise.ts'

const made = synthesise(readEnvironment('dev'))
const lagAlarm = ofType(made, 'AWS::CloudWatch::Alarm').find(
  ([, { Properties }]) => Properties['MetricName'] === 'IndexLag',
)?.[1]

/** What CloudWatch is told by these statements on `functions/runtime/metrics.ts`. */
function emitted(statements: string): {
  readonly names: string[]
  readonly values: Record<string, unknown>
  readonly namespace: string
} {
  const module = resolve(import.meta.dirname, '../../functions/runtime/metrics.ts')
  const code = `const metrics = await import(${JSON.stringify(module)}); ${statements}`
  const lines = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', stdio: 'pipe' })
  const line = lines.split('\n').find((text) => text.includes('"CloudWatchMetrics"')) ?? '{}'
  const values = JSON.parse(line) as Record<string, unknown> & {
    _aws: { CloudWatchMetrics: [{ Namespace: string; Dimensions: [string[]] }] }
  }
  const [{ Namespace, Dimensions }] = values._aws.CloudWatchMetrics
  return { names: Dimensions[0].toSorted(), values, namespace: Namespace }
}

test('the alarm of the index lag watches the very metric that the indexer tells, in its unit', () => {
  const { names, values, namespace } = emitted(`metrics.createLagMetric('dev')(1234)`)
  const dimensions = lagAlarm?.Properties['Dimensions'] as { Name: string; Value: string }[]
  expect(lagAlarm?.Properties['Namespace']).toBe(namespace)
  expect(dimensions.map(({ Name }) => Name).toSorted()).toEqual(names)
  for (const { Name, Value } of dimensions) expect(values[Name], Name).toBe(Value)
  expect(values['IndexLag']).toBe(1234)
  expect(lagAlarm?.Properties['Threshold']).toBe(5 * 60_000)
})

test('the dashboard adds up the very metrics of all agents that functions tell', () => {
  const { names, namespace } = emitted(`
    const counted = metrics.createRunMetrics('dev', new Map([['default', {}]]))
    counted.observe({ type: 'run.completed', run: { agent: 'default' } })
    counted.flush()`)
  const [, dashboard] = ofType(made, 'AWS::CloudWatch::Dashboard')[0] ?? []
  const body = JSON.stringify(dashboard?.Properties['DashboardBody'])
  expect(body).toContain(`{${[namespace, ...names].join(',')}} MetricName=`)
  expect(body).toMatch(/environment=\\+"dev/)
})
