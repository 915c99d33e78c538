import { expect, test } from 'vitest'
import type { RunBody } from '../../e2e/backend/client.ts'
import type { FunctionPool } from '../cloud/services/function-pool.ts'
import { ENVIRONMENT } from '../system.ts'
import type { FunctionName, System } from '../system.ts'
import { within } from './within.ts'

/** Time limit for metrics. A metric is flushed at the end of its invocation, after the response to the caller. */
const FLUSHED_MS = 60_000

/** A line of a function's log that is JSON. */
type Line = Readonly<Record<string, unknown>>

/** Scenarios of the functions' output for CloudWatch: log lines and metrics. */
export function declareNotifying(system: () => System): void {
  test('a turn is counted once, with its rounds and tokens, for its agent and environment', async () => {
    const { client, functions } = system()
    await client.post('/v1/sessions', { id: 'told' })
    const before = metricsOf(functions.Api).length
    const run = await client.post<RunBody>('/v1/sessions/told/messages', { content: 'what time is it' })
    const reported = await within(FLUSHED_MS, 'the metrics', async () => {
      const lines = metricsOf(functions.Api)
        .slice(before)
        .filter((line) => 'Turns' in line)
      return lines.length > 0 && lines
    })
    expect(reported).toMatchObject([
      { agent: 'default', environment: ENVIRONMENT, service: 'tooltrail', Turns: 1, Rounds: [1, 1] },
    ])
    const request = linesOf(functions.Api).findLast(({ message }) => message === 'request')
    expect(request).toMatchObject({ tenant: 'acme', session: 'told', run: run.id, path: '/v1/sessions/told/messages' })
  })

  test('the indexer emits the lag of the index, for its environment', () => {
    const lags = metricsOf(system().functions.Indexer).filter((line) => !('FailedBatches' in line))
    expect(lags.length).toBeGreaterThan(0)
    for (const lag of lags)
      expect(lag).toMatchObject({ environment: ENVIRONMENT, service: 'tooltrail', IndexLag: expect.any(Number) })
  })

  test.each([
    ['Worker', 'FailedHints'],
    ['Indexer', 'FailedBatches'],
  ] as const)('the %s counts failures that are retried as %s, for its environment', (name, metric) => {
    const reported = metricsOf(system().functions[name]).filter((line) => metric in line)
    expect(reported.length).toBeGreaterThan(0)
    for (const line of reported)
      expect(line).toMatchObject({ environment: ENVIRONMENT, service: 'tooltrail', [metric]: 1 })
  })

  test.each(['Api', 'Worker', 'Indexer', 'Sweeper'] as const)(
    '%s logs JSON only, each line with its invocation id, and emits no empty metrics',
    (name) => {
      const { functions } = system()
      const text = functions[name].log()
      expect(text).not.toContain('No application metrics to publish')
      const lines = text.split('\n').filter((line) => line !== '')
      expect(lines.filter((line) => !line.startsWith('{'))).toStrictEqual([])
      for (const line of linesOf(functions[name]))
        expect([name, line]).toMatchObject([name, { service: 'tooltrail', environment: ENVIRONMENT, ...REQUEST }])
    },
  )

  // A fault of the deployment's secret belongs to no session.
  test('a failure of a session is logged with its ids', () => {
    const wrong = (['Worker', 'Indexer'] satisfies FunctionName[]).map((name) =>
      linesOf(system().functions[name]).filter(
        ({ level, message }) => (level === 'ERROR' || level === 'WARN') && !String(message).startsWith('secret '),
      ),
    )
    expect(wrong.map((lines) => lines.length > 0)).toStrictEqual([true, true])
    for (const line of wrong.flat()) expect([line, 'session' in line && 'tenant' in line]).toStrictEqual([line, true])
  })
}

const REQUEST = { function_request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) }

function parsed(pool: FunctionPool): Line[] {
  return pool
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
}

const metricsOf = (pool: FunctionPool): Line[] => parsed(pool).filter((line) => '_aws' in line)

const linesOf = (pool: FunctionPool): Line[] => parsed(pool).filter((line) => !('_aws' in line))
