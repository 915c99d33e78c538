/* Evidence, cloud: A new version first gets a part of the work. Every caller of a function uses the function's alias. */
import { describe, expect, test } from 'vitest'
import { readEnvironment } from '../../lib/environments.ts'
import { environmentNamed, environmentOf, ofType, synthesise, type Synthesised } from './synthesise.ts'

const FUNCTIONS = ['Api', 'Worker', 'Indexer', 'Sweeper']
const dev = synthesise(environmentNamed('dev'))
const prod = synthesise(environmentNamed('prod'))
const atOnce = synthesise(readEnvironment('prod', { alarmEmail: 'oncall@example.com', canary: 'off' }))

/** Every resource that calls a function, with the functions and aliases that it names, such as `Api` and `ApiAlias`. */
function calls({ resources }: Synthesised): Map<string, string[]> {
  const named = (value: unknown): string[] => [
    ...new Set(
      [
        ...JSON.stringify(value).matchAll(/"Tooltrail(?:Release)?(Api|Worker|Indexer|Sweeper)(Alias)?[0-9A-F]{8}"/g),
      ].map(([, name, alias = '']) => `${name}${alias}`),
    ),
  ]
  const places: Readonly<Record<string, string>> = {
    'AWS::ApiGateway::Method': 'Integration',
    'AWS::Lambda::EventSourceMapping': 'FunctionName',
    'AWS::Lambda::Permission': 'FunctionName',
    'AWS::Events::Rule': 'Targets',
  }
  return new Map(
    Object.entries(resources).flatMap(([id, { Type, Properties }]) => {
      const place = 'EventPattern' in Properties ? undefined : places[Type]
      return place === undefined ? [] : [[id, named(Properties[place])] as const]
    }),
  )
}

const deploymentOf = (made: Synthesised): string[] =>
  ofType(made, 'AWS::ApiGateway::Deployment').map(([id]) => id.split('/')[1] ?? '')

describe('a new version', () => {
  test('in prod gets a tenth of the work for ten minutes, in each function', () => {
    const groups = ofType(prod, 'AWS::CodeDeploy::DeploymentGroup')
    expect(groups).toHaveLength(FUNCTIONS.length)
    for (const [id, { Properties }] of groups)
      expect(Properties, id).toMatchObject({
        AutoRollbackConfiguration: {
          Enabled: true,
          Events: expect.arrayContaining(['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM']) as unknown,
        },
        AlarmConfiguration: { Enabled: true },
      })
    expect(ofType(prod, 'AWS::CodeDeploy::DeploymentConfig')[0]?.[1].Properties['TrafficRoutingConfig']).toEqual({
      Type: 'TimeBasedCanary',
      TimeBasedCanary: { CanaryInterval: 10, CanaryPercentage: 10 },
    })
    const aliases = ofType(prod, 'AWS::Lambda::Alias')
    expect(aliases).toHaveLength(FUNCTIONS.length)
    for (const [id, alias] of aliases)
      expect(JSON.stringify(alias), id).toMatch(
        /"CodeDeployLambdaAliasUpdate":\{"ApplicationName":.*"DeploymentGroupName":/,
      )
  })

  test('is rolled back for its own errors, not for errors of the previous version', () => {
    for (const handler of FUNCTIONS.map((name) => name.toLowerCase())) {
      const [id = '', alarm] =
        ofType(prod, 'AWS::CloudWatch::Alarm').find(
          ([, { Properties }]) => Properties['AlarmName'] === `tooltrail-prod-${handler}-release`,
        ) ?? []
      const parts = alarm?.Properties['Metrics'] as { MetricStat?: { Metric: { Dimensions: { Name: string }[] } } }[]
      const dimensions = parts.flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? [])
      const version = dimensions.filter(({ Name }) => Name === 'ExecutedVersion')
      expect(version, handler).toHaveLength(2)
      expect(JSON.stringify(version)).toMatch(new RegExp(`Tooltrail${handler}CurrentVersion`, 'i'))
      const groups = JSON.stringify(ofType(prod, 'AWS::CodeDeploy::DeploymentGroup'))
      expect(groups).toContain(id.split('/')[1])
    }
  })

  test('has an alias, which every caller of a function uses', () => {
    for (const made of [prod, atOnce]) {
      const found = calls(made)
      expect(found.size).toBeGreaterThanOrEqual(7)
      for (const [id, targets] of found) {
        expect(targets, id).toHaveLength(1)
        expect(targets[0], id).toMatch(/Alias$/)
      }
      const all = new Set([...found.values()].flat())
      expect(all).toEqual(new Set(FUNCTIONS.map((name) => `${name}Alias`)))
    }
  })

  test('keeps the limits of asynchronous invocations for the sweeper and for its alias', () => {
    const configs = ofType(prod, 'AWS::Lambda::EventInvokeConfig').map(([, { Properties }]) => Properties)
    expect(configs.filter(({ Qualifier }) => Qualifier === '$LATEST')).toHaveLength(1)
    expect(configs).toHaveLength(2)
    for (const config of configs)
      expect(config).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 })
  })

  test('is deployed at once and without monitoring if the canary is off', () => {
    expect(ofType(atOnce, 'AWS::CodeDeploy::DeploymentGroup')).toEqual([])
    expect(JSON.stringify(ofType(atOnce, 'AWS::Lambda::Alias'))).not.toContain('UpdatePolicy')
  })

  test('replaces the old version at once if no canary is configured', () => {
    for (const type of ['Lambda::Alias', 'Lambda::Version', 'CodeDeploy::Application'])
      expect(ofType(dev, `AWS::${type}`), type).toEqual([])
    for (const [id, targets] of calls(dev)) expect(targets[0], id).not.toMatch(/Alias$/)
    expect(readEnvironment('dev', { canary: 'off' }).canary).toBeUndefined()
  })
})

describe('settings of the API', () => {
  const base = { model: 'a/b', search: { kind: 'serverless' } } as const
  const plain = synthesise(environmentOf(base))
  const vpcEndpoints = ['vpce-0123456789abcdef0', 'vpce-0123456789abcdef1']
  const inner = synthesise(environmentOf({ ...base, vpcEndpoints }))

  test('keep only processes of the API warm', () => {
    const warm = synthesise(environmentOf({ ...base, provisionedConcurrency: 3 }))
    const configs = ofType(warm, 'AWS::Lambda::Alias').map(([id, { Properties }]) => [
      /Release([A-Z][a-z]+)/.exec(id)?.[1],
      Properties['ProvisionedConcurrencyConfig'],
    ])
    expect(configs.filter(([, config]) => config !== undefined)).toEqual([
      ['Api', { ProvisionedConcurrentExecutions: 3 }],
    ])
    for (const [id, targets] of calls(warm)) expect(targets[0], id).toMatch(/Alias$/)
  })

  test('restrict a private API to its endpoints', () => {
    const [, api] = ofType(inner, 'AWS::ApiGateway::RestApi')[0] ?? []
    expect(api?.Properties['EndpointConfiguration']).toEqual({ Types: ['PRIVATE'], VpcEndpointIds: vpcEndpoints })
    expect((api?.Properties['Policy'] as { Statement: object[] } | undefined)?.Statement).toEqual([
      expect.objectContaining({ Effect: 'Allow', Condition: { StringEquals: { 'aws:SourceVpce': vpcEndpoints } } }),
    ])
    expect(JSON.stringify(inner.app.findOutputs('ApiUrl'))).toContain(`-${vpcEndpoints[0]}.execute-api.`)
  })

  test('enable X-Ray for requests and invocations only on request', () => {
    const seen = synthesise(environmentOf({ ...base, xray: true }))
    for (const [made, on] of [
      [seen, true],
      [plain, false],
    ] as const) {
      expect(ofType(made, 'AWS::ApiGateway::Stage')[0]?.[1].Properties['TracingEnabled']).toBe(on)
      const modes = ofType(made, 'AWS::Lambda::Function').map(([, { Properties }]) => Properties['TracingConfig'])
      expect(modes).toEqual(FUNCTIONS.map(() => (on ? { Mode: 'Active' } : undefined)))
    }
  })

  test('export traces from the functions that execute runs to the configured endpoint', () => {
    const traced = synthesise(environmentOf({ ...base, traceEndpoint: 'https://otlp.example.com' }))
    const named = ofType(traced, 'AWS::Lambda::Function').flatMap(([id, { Properties }]) => {
      const { Variables } = Properties['Environment'] as { Variables: Record<string, string> }
      return Variables['OTEL_EXPORTER_OTLP_ENDPOINT'] === undefined ? [] : [/Tooltrail([A-Z][a-z]+)/.exec(id)?.[1]]
    })
    expect(named).toEqual(['Api', 'Worker'])
  })

  test('cause a new deployment of the stage if the callers or the called functions of the API change', () => {
    const warm = synthesise(environmentOf({ ...base, provisionedConcurrency: 3 }))
    const other = synthesise(environmentOf({ ...base, vpcEndpoints: vpcEndpoints.slice(0, 1) }))
    const deployments = [plain, warm, inner, other].flatMap(deploymentOf)
    expect(new Set(deployments).size).toBe(4)
  })
})

describe('settings of a large environment', () => {
  const large = synthesise(
    environmentOf({
      model: 'a/b',
      search: { kind: 'serverless' },
      reserveConcurrency: true,
      indexerConcurrency: 64,
      warmThroughput: { reads: 20_000, writes: 50_000 },
    }),
  )

  test('reserve as much concurrency for the indexer as its stream has shards', () => {
    const indexer = ofType(large, 'AWS::Lambda::Function').find(([id]) => id.includes('Indexer'))
    expect(indexer?.[1].Properties['ReservedConcurrentExecutions']).toBe(64)
  })

  test('limit the concurrency of the API, because open streams occupy it for long', () => {
    const reservedOf = (made: Synthesised): unknown[] =>
      ofType(made, 'AWS::Lambda::Function').flatMap(([id, { Properties }]) =>
        id.includes('TooltrailApi') ? [Properties['ReservedConcurrentExecutions']] : [],
      )
    const bounded = { model: 'a/b', search: { kind: 'serverless' }, maxRequests: 300 } as const
    expect(reservedOf(synthesise(environmentOf(bounded)))).toEqual([300])
    expect(reservedOf(prod)).toEqual([undefined])
  })

  test('warm the table and each of its indexes, because the coldest one throttles all', () => {
    const [, table] = ofType(large, 'AWS::DynamoDB::Table')[0] ?? []
    const indexes = table?.Properties['GlobalSecondaryIndexes'] as { WarmThroughput?: object }[]
    for (const warm of [table?.Properties['WarmThroughput'], ...indexes.map(({ WarmThroughput }) => WarmThroughput)])
      expect(warm).toEqual({ ReadUnitsPerSecond: 20_000, WriteUnitsPerSecond: 50_000 })
    expect(JSON.stringify(ofType(dev, 'AWS::DynamoDB::Table'))).not.toContain('WarmThroughput')
  })
})
