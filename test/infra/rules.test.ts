import { Match } from 'aws-cdk-lib/assertions'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { environmentNames, readEnvironment } from '../../lib/environments.ts'
import { HouseChecks } from '../../lib/checks.ts'
import { createStacks } from '../../lib/create-stacks.ts'
import {
  createApp,
  environmentOf,
  expectResource,
  ofType,
  synthesise,
  type Resource,
  type Synthesised,
} from './synthesise.ts'
import { VARIANTS } from './variants.ts'

// Bundles and templates take their time where others work at the same machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const environments = [...environmentNames().map((name) => readEnvironment(name)), ...VARIANTS]

let dev: Synthesised
let prod: Synthesised
beforeAll(() => {
  dev = synthesise(readEnvironment('dev'))
  prod = synthesise(readEnvironment('prod'))
})

const functionsOf = (made: Synthesised): Map<string, Resource> =>
  new Map(
    ofType(made, 'AWS::Lambda::Function').map(([, fn]) => {
      const description = String(fn.Properties['Description'])
      const name = ['answers requests', 'runs the loop', 'keeps the history', 'finds what lost'].findIndex((text) =>
        description.includes(`: ${text}`),
      )
      return [['api', 'worker', 'indexer', 'sweeper'][name] ?? description, fn]
    }),
  )

const mappingsOf = (made: Synthesised) =>
  ofType(made, 'AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => Properties)
const queueOf = (made: Synthesised, name: string): Record<string, unknown> =>
  ofType(made, 'AWS::SQS::Queue').find(([id]) => id.includes(name))?.[1].Properties ?? {}

describe.each(environments)('$name', (environment) => {
  test('has no finding of AwsSolutions that is not acknowledged with its reason', () => {
    const app = createApp()
    createStacks(app, environment)
    const { violations } = new HouseChecks(app).validateScope(app)
    expect(violations.map(({ ruleName, violatingResources }) => [ruleName, violatingResources])).toEqual([])
  })
})

describe('the time that things may take', () => {
  test('a hint stays hidden for longer than its worker may run', () => {
    const timeout = Number(functionsOf(dev).get('worker')?.Properties['Timeout'])
    expect(queueOf(dev, 'RunsQueue')['VisibilityTimeout']).toBeGreaterThan(timeout)
  })

  test.each(['api', 'worker'])('the %s hands its run on well before its own end', (name) => {
    const { Timeout, Environment } = functionsOf(dev).get(name)?.Properties ?? {}
    const variables = (Environment as { Variables: Record<string, string> }).Variables
    const margin = Number(variables['TOOLTRAIL_STOP_MARGIN_SECONDS'])
    expect(margin).toBeGreaterThanOrEqual(60)
    expect(margin).toBeLessThan(Number(Timeout) / 2)
  })

  test('no function may run longer than Lambda lets it, nor any forget its logs never', () => {
    for (const [name, { Properties }] of functionsOf(dev)) expect(Properties['Timeout'], name).toBeLessThanOrEqual(900)
    for (const [id, { Properties }] of ofType(dev, 'AWS::Logs::LogGroup'))
      expect(Properties['RetentionInDays'], id).toBe(7)
  })

  test('what nobody could handle is kept for 14 days', () => {
    for (const name of ['DeadLetters', 'Poison']) expect(queueOf(dev, name)['MessageRetentionPeriod']).toBe(1_209_600)
  })

  test('records are given up long before the stream forgets them', () => {
    const stream = mappingsOf(dev).find((mapping) => mapping['StartingPosition'] !== undefined)
    expect(stream?.['MaximumRecordAgeInSeconds']).toBeLessThan(86_400 / 2)
    expect(stream).toMatchObject({
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      StartingPosition: 'TRIM_HORIZON',
    })
    expect(stream?.['MaximumRetryAttempts']).toBeLessThanOrEqual(1_000)
    expect(stream?.['DestinationConfig']).toBeDefined()
  })
})

describe('what goes to whom', () => {
  test('hints come one at a time, and only those that failed come again', () => {
    const queue = mappingsOf(dev).find((mapping) => mapping['StartingPosition'] === undefined)
    expect(queue).toMatchObject({ BatchSize: 1, FunctionResponseTypes: ['ReportBatchItemFailures'] })
  })

  test('a hint that keeps failing goes to the dead letters', () =>
    expect(queueOf(dev, 'RunsQueue')['RedrivePolicy']).toMatchObject({ maxReceiveCount: 5 }))

  test('Lambda does not end a chain of hand-overs, and does end any other', () => {
    for (const [name, { Properties }] of functionsOf(dev))
      expect(Properties['RecursiveLoop'], name).toBe(name === 'worker' ? 'Allow' : undefined)
  })

  test('the indexer is sent messages, and what expired, and nothing else', () => {
    const stream = mappingsOf(dev).find((mapping) => mapping['StartingPosition'] !== undefined)
    const { Filters } = (stream ?? {})['FilterCriteria'] as { Filters: { Pattern: string }[] }
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

describe('the API', () => {
  test('passes everything on to the function, the root too, and streams the answer for up to 15 minutes', () => {
    const methods = ofType(dev, 'AWS::ApiGateway::Method').map(([, method]) => method.Properties)
    expect(methods).toHaveLength(2)
    for (const method of methods)
      expect(method).toMatchObject({
        HttpMethod: 'ANY',
        Integration: { Type: 'AWS_PROXY', ResponseTransferMode: 'STREAM', TimeoutInMillis: 900_000 },
      })
    expect(JSON.stringify(methods.map((method) => method['ResourceId']))).toContain('RootResourceId')
  })

  test('is regional, throttled and logged, without what was said', () => {
    expectResource(dev.app, 'AWS::ApiGateway::RestApi', { EndpointConfiguration: { Types: ['REGIONAL'] } })
    expectResource(dev.app, 'AWS::ApiGateway::Stage', {
      AccessLogSetting: {
        DestinationArn: Match.anyValue(),
        Format: Match.not(Match.stringLikeRegexp('header|querystring')),
      },
      MethodSettings: [
        Match.objectLike({ DataTraceEnabled: false, ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 }),
      ],
    })
  })

  test('stands behind a firewall in prod, which lets people talk about SQL', () => {
    expect(ofType(prod, 'AWS::WAFv2::WebACLAssociation')).toHaveLength(1)
    expect(ofType(dev, 'AWS::WAFv2::WebACL')).toHaveLength(0)
    const [, acl] = ofType(prod, 'AWS::WAFv2::WebACL')[0] ?? []
    expect(JSON.stringify(acl)).not.toMatch(/CommonRuleSet|SQLi|KnownBadInputs/)
  })
})

describe('the search', () => {
  test('sleeps when nobody searches, where it is serverless', () => {
    expectResource(dev.search, 'AWS::OpenSearchServerless::CollectionGroup', {
      Generation: 'NEXTGEN',
      CapacityLimits: { MinIndexingCapacityInOcu: 0, MinSearchCapacityInOcu: 0 },
    })
  })

  test('may be written by the indexer alone, and read by whoever searches', () => {
    const policies = new Map(
      ofType(dev, 'AWS::OpenSearchServerless::AccessPolicy').map(([, { Properties }]) => [
        Properties['Name'],
        JSON.stringify(Properties['Policy']),
      ]),
    )
    expect([...policies.keys()].map(String).toSorted()).toEqual([
      'tooltrail-dev-api',
      'tooltrail-dev-indexer',
      'tooltrail-dev-worker',
    ])
    for (const [name, policy] of policies) {
      expect(policy.includes('aoss:WriteDocument'), String(name)).toBe(name === 'tooltrail-dev-indexer')
      expect(policy.includes('aoss:ReadDocument'), String(name)).toBe(name !== 'tooltrail-dev-indexer')
    }
    expect([...policies.values()].join()).not.toContain('aoss:*')
  })

  test('may be rebuilt, counted and cleared of old indexes by its operators', () => {
    const full = VARIANTS.find(({ name }) => name === 'full')
    if (full === undefined) throw new Error('there is no such variant')
    const [, operators] =
      ofType(synthesise(full), 'AWS::OpenSearchServerless::AccessPolicy').find(
        ([, { Properties }]) => Properties['Name'] === 'tooltrail-full-operators',
      ) ?? []
    const [{ Rules, Principal } = { Rules: [], Principal: [] }] = JSON.parse(
      String(operators?.Properties['Policy']),
    ) as {
      Rules: { Permission: string[] }[]
      Principal: string[]
    }[]
    expect(Principal).toEqual(full.operators)
    expect(new Set(Rules.flatMap(({ Permission }) => Permission))).toEqual(
      new Set(
        [
          ...['ReadDocument', 'WriteDocument', 'CreateIndex', 'DescribeIndex', 'DeleteIndex'],
          ...['Create', 'Describe', 'Update', 'Delete'].map((verb) => `${verb}CollectionItems`),
        ].map((action) => `aoss:${action}`),
      ),
    )
  })

  test('is encrypted, spread over three zones and reached by TLS alone, where it is a domain in prod', () => {
    expectResource(prod.search, 'AWS::OpenSearchService::Domain', {
      ClusterConfig: { MultiAZWithStandbyEnabled: true, ZoneAwarenessConfig: { AvailabilityZoneCount: 3 } },
      DomainEndpointOptions: { EnforceHTTPS: true, TLSSecurityPolicy: 'Policy-Min-TLS-1-2-PFS-2023-10' },
      EncryptionAtRestOptions: { Enabled: true },
      NodeToNodeEncryptionOptions: { Enabled: true },
    })
  })

  test('of one small node asks for no standby, which t3 instances do not have', () => {
    const [small] = VARIANTS
    if (small === undefined) throw new Error('there is no variant')
    expectResource(synthesise(small).search, 'AWS::OpenSearchService::Domain', {
      ClusterConfig: { InstanceType: 't3.small.search', MultiAZWithStandbyEnabled: false },
    })
  })
})

describe('deleting an environment', () => {
  const staying = (made: Synthesised): string[] =>
    Object.entries(made.resources)
      .filter(([, { DeletionPolicy }]) => DeletionPolicy?.startsWith('Retain'))
      .map(([, { Type }]) => Type)

  test('leaves nothing of dev but the role that API Gateway has once in an account', () =>
    expect(new Set(staying(dev))).toEqual(new Set(['AWS::ApiGateway::Account', 'AWS::IAM::Role'])))

  test('leaves of prod what holds data, and the logs of its functions', () => {
    const kept = staying(prod)
    expect(kept.filter((type) => type === 'AWS::Logs::LogGroup')).toHaveLength(4)
    expect(new Set(kept)).toEqual(
      new Set([
        ...['AWS::ApiGateway::Account', 'AWS::IAM::Role', 'AWS::Logs::LogGroup', 'AWS::S3::Bucket'],
        ...['AWS::DynamoDB::Table', 'AWS::SecretsManager::Secret', 'AWS::OpenSearchService::Domain'],
      ]),
    )
  })
})

describe('two environments in one account', () => {
  test('name nothing alike', () => {
    const settings = { model: 'a/b', search: { kind: 'serverless' } } as const
    const [one, two] = ['one', 'two'].map((name) => namesOf(synthesise(environmentOf(settings, name)))) as [
      string[],
      string[],
    ]
    expect(one.length).toBeGreaterThan(15)
    expect(one.filter((name) => two.includes(name))).toEqual([])
  })
})

/** Its API's own stage, its role's own policy, and metrics: their names are found within something else. */
const NOT_UNIQUE = /^AWS::ApiGateway::Stage |^AWS::IAM::Policy | MetricName /

/** Names that must be unique in an account and region, each with its type. */
const namesOf = ({ resources }: Synthesised): string[] =>
  Object.values(resources)
    .flatMap(({ Type, Properties }) =>
      Object.entries(Properties).flatMap(([key, value]) =>
        /^([A-Z]\w*)?Name$/.test(key) && typeof value === 'string' ? [`${Type} ${key} ${value}`] : [],
      ),
    )
    .filter((name) => !NOT_UNIQUE.test(name))

describe('the alarms', () => {
  test('go to one topic, and say what they mean and what to do', () => {
    const alarms = ofType(dev, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
    expect(alarms.map((alarm) => String(alarm['AlarmName'])).toSorted()).toEqual(
      [
        ...['dead-letters', 'poison', 'oldest-hint', 'iterator-age', 'index-lag', 'server-errors'],
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

  test('reach the address of the environment', () => {
    const [small] = VARIANTS
    if (small === undefined) throw new Error('there is no variant')
    expectResource(synthesise(small).monitoring, 'AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    })
  })
})
