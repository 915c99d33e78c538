import { describe, expect, test } from 'vitest'
import { environmentNamed, ofType, synthesise } from './synthesise.ts'

const dev = synthesise(environmentNamed('dev'))

/** The functions by the names of their handlers. */
const functions = new Map(
  ofType(dev, 'AWS::Lambda::Function').map(([id, { Properties }]) => [
    /^app\/Tooltrail([A-Z][a-z]+)[0-9A-F]{8}$/.exec(id)?.[1]?.toLowerCase() ?? id,
    Properties,
  ]),
)
const mappings = ofType(dev, 'AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => Properties)
const ofStream = mappings.find((mapping) => mapping['StartingPosition'] !== undefined)
const ofQueue = mappings.find((mapping) => mapping['StartingPosition'] === undefined)
const queueOf = (name: string): Readonly<Record<string, unknown>> =>
  ofType(dev, 'AWS::SQS::Queue').find(([id]) => id.includes(name))?.[1].Properties ?? {}

describe('time limits', () => {
  test('a hint stays hidden longer than its worker may run', () => {
    const timeout = Number(functions.get('worker')?.['Timeout'])
    expect(queueOf('RunsQueue')['VisibilityTimeout']).toBeGreaterThan(timeout)
  })

  test.each(['api', 'worker'])('the %s hands its run off well before its own timeout', (name) => {
    const { Timeout, Environment } = functions.get(name) ?? {}
    const variables = (Environment as { Variables: Record<string, string> }).Variables
    const margin = Number(variables['TOOLTRAIL_STOP_MARGIN_SECONDS'])
    expect(margin).toBeGreaterThanOrEqual(60)
    expect(margin).toBeLessThan(Number(Timeout) / 2)
  })

  test('functions respect the limit of Lambda, and their logs expire', () => {
    for (const [name, fn] of functions) expect(fn['Timeout'], name).toBeLessThanOrEqual(900)
    for (const [id, { Properties }] of ofType(dev, 'AWS::Logs::LogGroup'))
      expect(Properties['RetentionInDays'], id).toBe(7)
  })

  test('dead letters are retained for 14 days', () => {
    for (const name of ['DeadLetters', 'Poison']) expect(queueOf(name)['MessageRetentionPeriod']).toBe(1_209_600)
  })

  test('failing records are given up long before the stream drops them', () => {
    expect(ofStream?.['MaximumRecordAgeInSeconds']).toBeLessThan(86_400 / 2)
    expect(ofStream).toMatchObject({
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      StartingPosition: 'TRIM_HORIZON',
    })
    expect(ofStream?.['MaximumRetryAttempts']).toBeLessThanOrEqual(1_000)
    expect(ofStream?.['DestinationConfig']).toBeDefined()
  })
})

describe('the delivery of work', () => {
  test('hints arrive one at a time, and only failed hints are redelivered', () => {
    expect(ofQueue).toMatchObject({ BatchSize: 1, FunctionResponseTypes: ['ReportBatchItemFailures'] })
  })

  test('a hint that keeps failing becomes a dead letter', () =>
    expect(queueOf('RunsQueue')['RedrivePolicy']).toMatchObject({ maxReceiveCount: 5 }))

  test('the number of workers is limited, and reserved concurrency leaves enough for other functions', () => {
    expect(ofQueue?.['ScalingConfig']).toEqual({ MaximumConcurrency: 20 })
    const reservedOf = (name: string): [string, unknown][] =>
      ofType(synthesise(environmentNamed(name)), 'AWS::Lambda::Function').flatMap(([id, { Properties }]) => {
        const reserved = Properties['ReservedConcurrentExecutions']
        return reserved === undefined ? [] : [[/Tooltrail([A-Z][a-z]+)/.exec(id)?.[1] ?? id, reserved]]
      })
    expect(Object.fromEntries(reservedOf('prod'))).toEqual({ Indexer: 20, Sweeper: 2 })
    // In a new account, AWS refuses reserved concurrency, and the deployment of the stack fails.
    expect(reservedOf('dev')).toEqual([])
  })

  test('Lambda does not retry a sweep, because a retry would run late and beside other sweeps', () => {
    const configs = ofType(dev, 'AWS::Lambda::EventInvokeConfig').map(([, { Properties }]) => Properties)
    expect(configs).toHaveLength(1)
    expect(configs[0]).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60, Qualifier: '$LATEST' })
    expect(JSON.stringify(configs[0]?.['FunctionName'])).toContain('Sweeper')
    // Only asynchronous invocations need a limit of retries, and only the sweeper is invoked asynchronously.
    const rules = ofType(dev, 'AWS::Events::Rule').map(([, { Properties }]) => JSON.stringify(Properties['Targets']))
    expect(rules.filter((targets) => targets.includes('Tooltrail'))).toHaveLength(1)
  })

  test('Lambda does not stop a chain of hand-offs but stops any other recursion', () => {
    for (const [name, fn] of functions) expect(fn['RecursiveLoop'], name).toBe(name === 'worker' ? 'Allow' : undefined)
  })

  test('the indexer receives only messages and expired items', () => {
    const { Filters } = (ofStream ?? {})['FilterCriteria'] as { Filters: { Pattern: string }[] }
    expect(Filters.map(({ Pattern }) => JSON.parse(Pattern) as unknown)).toEqual([
      { dynamodb: { Keys: { sk: { S: [{ prefix: '0' }] } } } },
      {
        eventName: ['REMOVE'],
        dynamodb: { Keys: { sk: { S: ['#EXPIRY'] } } },
        userIdentity: { type: ['Service'], principalId: ['dynamodb.amazonaws.com'] },
      },
    ])
  })

  test('every queue is encrypted and refuses requests without TLS', () => {
    for (const [id, { Properties }] of ofType(dev, 'AWS::SQS::Queue'))
      expect(Properties['SqsManagedSseEnabled'], id).toBe(true)
    expect(ofType(dev, 'AWS::SQS::QueuePolicy')).toHaveLength(3)
    for (const [, policy] of ofType(dev, 'AWS::SQS::QueuePolicy'))
      expect(JSON.stringify(policy.Properties)).toContain('"aws:SecureTransport":"false"')
  })
})
