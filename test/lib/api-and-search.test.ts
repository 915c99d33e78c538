/* Evidence, cloud: Requests without a key do not count against the tenants' rate limit. */
/* Evidence, cloud: A line of the API's access log is JSON, whatever API Gateway inserts. */
/* Evidence, cloud: The firewall accepts the rate that a key may send from one address. */
import { Match } from 'aws-cdk-lib/assertions'
import { describe, expect, test } from 'vitest'
import { environmentNames } from '../../lib/environments.ts'
import { environmentNamed, environmentOf, expectResource, ofType, synthesise } from './synthesise.ts'
import { VARIANTS, variantOf } from './variants.ts'

const dev = synthesise(environmentNamed('dev'))
const prod = synthesise(environmentNamed('prod'))

describe('the API', () => {
  test('forwards every path to the function, including the root, and streams responses for up to 15 minutes', () => {
    const methods = ofType(dev, 'AWS::ApiGateway::Method').map(([, method]) => method.Properties)
    expect(methods).toHaveLength(8)
    for (const method of methods)
      expect(method).toMatchObject({
        HttpMethod: 'ANY',
        Integration: { Type: 'AWS_PROXY', ResponseTransferMode: 'STREAM', TimeoutInMillis: 900_000 },
      })
    expect(JSON.stringify(methods.map((method) => method['ResourceId']))).toContain('RootResourceId')
  })

  test('is regional, throttled and logged without message content', () => {
    expectResource(dev.app, 'AWS::ApiGateway::RestApi', { EndpointConfiguration: { Types: ['REGIONAL'] } })
    expectResource(dev.app, 'AWS::ApiGateway::Stage', {
      AccessLogSetting: {
        DestinationArn: Match.anyValue(),
        Format: Match.not(Match.stringLikeRegexp('header|querystring')),
      },
      MethodSettings: Match.arrayWith([
        Match.objectLike({ ResourcePath: '/*', DataTraceEnabled: false, ThrottlingRateLimit: 50 }),
      ]),
    })
  })

  test('throttles tenants separately from paths without a key', () => {
    const [, stage] = ofType(dev, 'AWS::ApiGateway::Stage')[0] ?? []
    const settings = stage?.Properties['MethodSettings'] as readonly Record<string, unknown>[]
    const paths = settings.map(({ ResourcePath, HttpMethod, ThrottlingRateLimit, ThrottlingBurstLimit }) =>
      [ResourcePath, HttpMethod, ThrottlingRateLimit, ThrottlingBurstLimit].join(' '),
    )
    expect(paths.toSorted()).toEqual(['/ ANY 25 50', '/* * 50 100', '/~1{proxy+} ANY 25 50'])
    for (const one of settings) expect(one).toMatchObject({ DataTraceEnabled: false, LoggingLevel: 'ERROR' })
    const parts = ofType(dev, 'AWS::ApiGateway::Resource').map(([, { Properties }]) => Properties['PathPart'])
    expect(new Set(parts)).toEqual(new Set(['{proxy+}', 'v1', 'openai', 'mcp']))
  })

  test('logs the time to the first byte of a body for the dashboard', () => {
    const [, stage] = ofType(dev, 'AWS::ApiGateway::Stage')[0] ?? []
    expect(JSON.stringify(stage?.Properties['AccessLogSetting'])).toContain('$context.integration.timeToFirstContent')
    const page = JSON.stringify(ofType(dev, 'AWS::CloudWatch::Dashboard'))
    expect(page).toMatch(
      /pct\(firstByteMilliseconds, 50\).{0,400}Milliseconds to the first byte|Milliseconds to the first byte.{0,400}pct\(firstByteMilliseconds, 50\)/,
    )
    expect(page).toContain('Milliseconds to the last byte')
  })

  test('changes no account setting if another stack has set the role for logs of API Gateway', () => {
    const shared = { model: 'a/b', search: { kind: 'serverless' }, apiGatewayLogs: 'shared', retain: false } as const
    const made = synthesise(environmentOf(shared))
    expect(ofType(made, 'AWS::ApiGateway::Account')).toEqual([])
    expect(JSON.stringify(made.resources)).not.toContain('AmazonAPIGatewayPushToCloudWatchLogs')
    expect(ofType(dev, 'AWS::ApiGateway::Account')).toHaveLength(1)
  })

  test('writes one line of JSON for each request, whatever values API Gateway inserts', () => {
    const [, stage] = ofType(dev, 'AWS::ApiGateway::Stage')[0] ?? []
    const { Format = '' } = (stage?.Properties['AccessLogSetting'] ?? {}) as { readonly Format?: string }
    // AWS documents that only the variable whose name ends with `String` already has quotes.
    const line = Format.replaceAll(/\$context(?:\.\w+)+/g, (name) =>
      name.endsWith('String') ? '"Forbidden"' : 'Forbidden',
    )
    expect(JSON.parse(line)).toMatchObject({ requestId: 'Forbidden', error: 'Forbidden' })
  })

  test('creates its execution log group first, so that API Gateway creates no permanent one', () => {
    for (const made of [dev, prod]) {
      const [id = '', group] =
        ofType(made, 'AWS::Logs::LogGroup').find(([one]) => one.startsWith('app/TooltrailPublicApiErrors')) ?? []
      const [, stage] = ofType(made, 'AWS::ApiGateway::Stage')[0] ?? []
      const api = { Ref: ofType(made, 'AWS::ApiGateway::RestApi')[0]?.[0].split('/')[1] }
      expect(group?.Properties['LogGroupName']).toEqual({
        'Fn::Join': ['', ['API-Gateway-Execution-Logs_', api, `/${String(stage?.Properties['StageName'])}`]],
      })
      expect(group?.DeletionPolicy).toBe('Delete')
      expect(stage?.DependsOn).toContain(id.split('/')[1])
    }
  })

  test('has no paid metrics for single methods, because no alarm uses them', () => {
    const [, stage] = ofType(dev, 'AWS::ApiGateway::Stage')[0] ?? []
    for (const one of (stage?.Properties['MethodSettings'] ?? [{}]) as object[])
      expect(one).toMatchObject({ MetricsEnabled: false })
    const asked = JSON.stringify([ofType(prod, 'AWS::CloudWatch::Alarm'), ofType(prod, 'AWS::CloudWatch::Dashboard')])
    expect(asked).toContain('5XXError')
    expect(asked).not.toMatch(/"Name":"(Method|Resource|Stage)","Value":"(ANY|\/|api)/)
  })

  test('has the domain name and the hosted zone that the environment sets', () => {
    const { app } = synthesise(variantOf('full'))
    expectResource(app, 'AWS::ApiGateway::DomainName', { DomainName: 'agents.example.com', SecurityPolicy: 'TLS_1_2' })
    expectResource(app, 'AWS::Route53::RecordSet', { Name: 'agents.example.com.', Type: 'A' })
    expect(app.findOutputs('ApiUrl')['ApiUrl']?.['Value']).toBe('https://agents.example.com')
  })

  test('lets pages of allowed origins read its own error responses', () => {
    const responses = (name: string) => ofType(synthesise(variantOf(name)), 'AWS::ApiGateway::GatewayResponse')
    expect(ofType(dev, 'AWS::ApiGateway::GatewayResponse')).toEqual([])
    expect(
      responses('small').map(([, { Properties }]) => [Properties['ResponseType'], Properties['ResponseParameters']]),
    ).toEqual(
      ['DEFAULT_4XX', 'DEFAULT_5XX'].map((type) => [
        type,
        { 'gatewayresponse.header.access-control-allow-origin': "'*'" },
      ]),
    )
  })

  test('refuses a key that is used too often, before any function runs', () => {
    const [, acl] = ofType(prod, 'AWS::WAFv2::WebACL')[0] ?? []
    expect(acl?.Properties['Rules']).toContainEqual(
      expect.objectContaining({
        Name: 'one-key',
        Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
        Statement: {
          RateBasedStatement: {
            AggregateKeyType: 'CUSTOM_KEYS',
            Limit: 12_000,
            CustomKeys: [{ Header: { Name: 'authorization', TextTransformations: [{ Priority: 0, Type: 'NONE' }] } }],
          },
        },
      }),
    )
  })

  test.each([environmentNamed('prod'), variantOf('mine')])(
    'of $name has a firewall that allows the full rate of a key from one address',
    (environment) => {
      const [, acl] = ofType(synthesise(environment), 'AWS::WAFv2::WebACL')[0] ?? []
      const rules = acl?.Properties['Rules'] as { Statement: { RateBasedStatement?: { Limit: number } } }[]
      const limits = rules.flatMap(({ Statement }) => Statement.RateBasedStatement?.Limit ?? [])
      expect(limits).toHaveLength(2)
      expect(Math.min(...limits)).toBeGreaterThanOrEqual((environment.keyCaps.requestsPerSecond ?? Infinity) * 300)
    },
  )

  test('has a firewall in prod that does not block text about SQL', () => {
    expect(ofType(prod, 'AWS::WAFv2::WebACLAssociation')).toHaveLength(1)
    expect(ofType(dev, 'AWS::WAFv2::WebACL')).toHaveLength(0)
    const [, acl] = ofType(prod, 'AWS::WAFv2::WebACL')[0] ?? []
    expect(JSON.stringify(acl)).not.toMatch(/CommonRuleSet|SQLi|KnownBadInputs/)
  })
})

describe('the search', () => {
  test('has a minimum capacity of zero if it is serverless', () => {
    expectResource(dev.search, 'AWS::OpenSearchServerless::CollectionGroup', {
      Generation: 'NEXTGEN',
      CapacityLimits: { MinIndexingCapacityInOcu: 0, MinSearchCapacityInOcu: 0 },
    })
  })

  test.each(
    [...environmentNames().map(environmentNamed), ...VARIANTS].filter(({ search }) => search.kind === 'serverless'),
  )('of $name follows AWS rules: a standby copy, and capacities of 2, 4, 8 or multiples of 16', (environment) => {
    const made = synthesise(environment)
    const [, group] = ofType(made, 'AWS::OpenSearchServerless::CollectionGroup')[0] ?? []
    const { Generation, StandbyReplicas, CapacityLimits } = group?.Properties ?? {}
    expect([Generation, StandbyReplicas]).toEqual(['NEXTGEN', 'ENABLED'])
    for (const [limit, value] of Object.entries(CapacityLimits as Record<string, number>))
      expect([0, 2, 4, 8, 16].includes(value) || (value > 0 && value % 16 === 0), limit).toBe(true)
    const [, collection] = ofType(made, 'AWS::OpenSearchServerless::Collection')[0] ?? []
    expect(collection?.Properties['StandbyReplicas']).toBe(StandbyReplicas)
  })

  test('allows writes by the indexer alone, and reads by the functions that search', () => {
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

  test('lets its operators rebuild, count and remove old indexes', () => {
    const full = variantOf('full')
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

  test('in prod is an encrypted domain in three zones, reached only through TLS', () => {
    expectResource(prod.search, 'AWS::OpenSearchService::Domain', {
      ClusterConfig: { MultiAZWithStandbyEnabled: true, ZoneAwarenessConfig: { AvailabilityZoneCount: 3 } },
      DomainEndpointOptions: { EnforceHTTPS: true, TLSSecurityPolicy: 'Policy-Min-TLS-1-2-PFS-2023-10' },
      EncryptionAtRestOptions: { Enabled: true },
      NodeToNodeEncryptionOptions: { Enabled: true },
      EBSOptions: { VolumeSize: 50, VolumeType: 'gp3' },
    })
  })

  test('as a domain is upgraded in place by a newer engine version', () => {
    const [, domain] = ofType(prod, 'AWS::OpenSearchService::Domain')[0] ?? []
    expect(domain?.UpdatePolicy).toMatchObject({ EnableVersionUpgrade: true })
  })

  test.each([
    [3, true, 'm7g.large.search', '2'],
    [27, true, 'm7g.large.search', '2'],
    [30, true, 'm7g.xlarge.search', '2'],
    [2, false, undefined, '1'],
    [1, false, undefined, '0'],
  ])('of %i nodes (standby: %s) has matching masters and replicas', (nodes, standby, master, copies) => {
    const search = { kind: 'domain', instance: 'r7g.large.search', nodes, standby } as const
    const made = synthesise(environmentOf({ model: 'a/b', search }))
    const [, domain] = ofType(made, 'AWS::OpenSearchService::Domain')[0] ?? []
    const { DedicatedMasterType } = (domain?.Properties['ClusterConfig'] ?? {}) as { DedicatedMasterType?: string }
    expect(DedicatedMasterType).toBe(master)
    const variables = ofType(made, 'AWS::Lambda::Function').map(
      ([, { Properties }]) => (Properties['Environment'] as { Variables: Record<string, string> }).Variables,
    )
    expect(variables.flatMap(({ TOOLTRAIL_INDEX_COPIES }) => TOOLTRAIL_INDEX_COPIES ?? [])).toEqual([copies])
    expect(made.search.findOutputs('SearchCopies')['SearchCopies']?.['Value']).toBe(copies)
    expect(JSON.stringify(ofType(dev, 'AWS::Lambda::Function'))).not.toContain('TOOLTRAIL_INDEX_COPIES')
  })

  test('as a domain logs its failures and its slow requests', () => {
    expectResource(prod.search, 'AWS::OpenSearchService::Domain', {
      LogPublishingOptions: {
        ES_APPLICATION_LOGS: Match.objectLike({ Enabled: true }),
        INDEX_SLOW_LOGS: Match.objectLike({ Enabled: true }),
        SEARCH_SLOW_LOGS: Match.objectLike({ Enabled: true }),
      },
    })
  })

  test('of one small node has no standby, because t3 instances do not support it', () => {
    expectResource(synthesise(variantOf('small')).search, 'AWS::OpenSearchService::Domain', {
      ClusterConfig: { InstanceType: 't3.small.search', MultiAZWithStandbyEnabled: false },
    })
  })
})
