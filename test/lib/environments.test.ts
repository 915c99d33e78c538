/* Evidence, limits: A tenant that the operator names has its own budget. */
/* Evidence, usage: Runs from webhooks and Slack count against the tenant's budget; a thread gets one notice. */
/* Evidence, cloud: A wrong setting of an environment stops synthesis with a line that names it. */
import { describe, expect, test } from 'vitest'
import {
  environmentNames,
  EnvironmentError,
  readEnvironment,
  type EnvironmentSettings,
} from '../../lib/environments.ts'
import { OWN_ENVIRONMENT } from '../../lib/own-environment.ts'
import { readSettings } from '../../functions/runtime/settings/config.ts'
import { capSettings, capVariables } from '../../functions/runtime/settings/variables.ts'
import { createStacks } from '../../lib/create-stacks.ts'
import { createApp, environmentNamed, environmentOf, synthesise } from './synthesise.ts'

const SERVERLESS = { kind: 'serverless' } as const
const DOMAIN = { kind: 'domain', instance: 'r7g.large.search', nodes: 3 } as const

const DOMAIN_NAME = { name: 'agents.example.com', certificate: 'arn:aws:acm:eu-central-1:111122223333:certificate/1' }

const STREAM = 'arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/2026-11-22T05:00:00.000'

const messageOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof EnvironmentError) return error.message
    throw error
  }
  return ''
}

/** Values of a variable in all functions that have it. */
const variablesNamed = (name: string, settings: EnvironmentSettings): string[] =>
  Object.values(synthesise(environmentOf(settings)).app.findResources('AWS::Lambda::Function')).flatMap(
    ({ Properties }) =>
      (Properties as { Environment: { Variables: Record<string, string> } }).Environment.Variables[name] ?? [],
  )

describe('the settings of an environment', () => {
  test.each(environmentNames())('of %s are readable', (name) => expect(environmentNamed(name).name).toBe(name))

  test('are valid in the template for a new environment', () =>
    expect(environmentOf(OWN_ENVIRONMENT, 'mine')).toEqual({ name: 'mine', ...OWN_ENVIRONMENT }))

  test('require an alarm address in prod, which can be set with -c', () => {
    expect(messageOf(() => readEnvironment('prod'))).toContain('prod.alarmEmail: is needed where data is kept (retain)')
    expect(readEnvironment('prod', { alarmEmail: 'me@example.com' }).alarmEmail).toBe('me@example.com')
    expect(readEnvironment('dev').alarmEmail).toBeUndefined()
  })

  test('cause an error that lists the known environments if the name is unknown', () => {
    const message = messageOf(() => readEnvironment('prd'))
    expect(message).toContain('there is no environment "prd"; there are dev, staging, prod')
  })

  test.each([undefined, ''])(
    'cause an error that shows how to name an environment if the name is missing (%j)',
    (name) => expect(messageOf(() => readEnvironment(name))).toContain('-c env=dev'),
  )

  test('reject a name that every object has as a property, such as toString', () =>
    expect(messageOf(() => readEnvironment('toString'))).toContain('there is no environment'))

  test.each([
    [{ model: 'gpt', search: SERVERLESS }, 'own.model: is not of the form provider/model'],
    [{ model: 'a/b', search: SERVERLESS, account: '12' }, 'own.account: is not an account number'],
    [{ model: 'a/b', search: SERVERLESS, region: 'Frankfurt' }, 'own.region: is not a region'],
    [{ model: 'a/b', search: SERVERLESS, alarmEmail: 'me' }, 'own.alarmEmail: is not an email address'],
    [{ model: 'a/b', search: SERVERLESS, alarmEmail: undefined }, 'own.alarmEmail: is needed where data is kept'],
    [{ model: 'a/b', search: { kind: 'serverless', maxCapacity: 6 } }, 'own.search.maxCapacity: must be 2, 4, 8,'],
    [{ model: 'a/b', search: { kind: 'serverless', standby: true } }, 'own.search: there is no field "standby"'],
    [
      { model: 'a/b', search: SERVERLESS, retain: false, alarmEmail: undefined, monthlyBudget: 5 },
      'own.monthlyBudget: needs an alarmEmail',
    ],
    [{ model: 'a/b', search: SERVERLESS, maxWorkers: 1 }, 'own.maxWorkers: must be at least 2'],
    [{ search: SERVERLESS }, 'own.model: is missing: it must be a string'],
    [{ model: 'a/b', search: { kind: 'elastic' } }, "own.search.kind: must be 'serverless' or 'domain'"],
    [{ model: 'a/b', search: SERVERLESS, retain: 'no' }, 'own.retain: must be true or false'],
    [{ model: 'a/b', search: SERVERLESS, logDays: 8 }, 'own.logDays: must be 1, 3,'],
    [{ model: 'a/b', search: SERVERLESS, canary: { percent: 100, minutes: 5 } }, 'own.canary'],
    [{ model: 'a/b', search: SERVERLESS, canary: 'on' }, "own.canary: is neither 'off' nor { percent"],
    [{ model: 'a/b', search: SERVERLESS, indexerConcurrency: 1 }, 'own.indexerConcurrency: must be at least 2'],
    [{ model: 'a/b', search: SERVERLESS, warmThroughput: { reads: 1, writes: 1 } }, 'own.warmThroughput.reads: '],
    [{ model: 'a/b', search: SERVERLESS, provisionedConcurrency: 0 }, 'own.provisionedConcurrency: must be above 0'],
    [
      { model: 'a/b', search: SERVERLESS, maxRequests: 2, provisionedConcurrency: 3 },
      'own.provisionedConcurrency: is more than maxRequests',
    ],
    [{ model: 'a/b', search: SERVERLESS, traceEndpoint: 'http://a.example' }, 'own.traceEndpoint: is not an https'],
    [{ model: 'a/b', search: SERVERLESS, vpcEndpoints: [] }, 'own.vpcEndpoints: must not be empty'],
    [{ model: 'a/b', search: SERVERLESS, vpcEndpoints: ['vpc-1'] }, 'own.vpcEndpoints.0: is not the id of a VPC'],
    [
      { model: 'a/b', search: SERVERLESS, vpcEndpoints: ['vpce-0123456789abcdef0'], customDomain: DOMAIN_NAME },
      'own.customDomain: is not possible with vpcEndpoints',
    ],
    [{ model: 'a/b', search: SERVERLESS, tags: { 'aws:team': 'x' } }, 'own.tags.aws:team: begins with aws:'],
    [
      {
        model: 'a/b',
        search: SERVERLESS,
        tags: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`t${at}`, 'x'])),
      },
      'own.tags: are more than 49',
    ],
    [
      { model: 'a/b', search: SERVERLESS, tenantBudget: { tenants: { 'A B': {} } } },
      'own.tenantBudget.tenants.A B: is not the name of a tenant',
    ],
    [{ model: 'a/b', search: SERVERLESS, tags: { team: 'a&b' } }, 'own.tags.team: has other characters'],
    [
      { model: 'a/b', search: SERVERLESS, corsOrigins: Array(40).fill('https://pages.of.somebody.example.com') },
      'own.corsOrigins: must be at most 1000 characters',
    ],
    [{ model: 'a/b', search: SERVERLESS, corsOrigins: ['example'] }, 'own.corsOrigins.0: is no origin'],
    [{ model: 'a/b', search: SERVERLESS, corsOrigins: ['https://a.example/'] }, 'own.corsOrigins.0: is no origin'],
    [{ model: 'a/b', search: SERVERLESS, allowedHosts: ['a.example:99999'] }, 'own.allowedHosts.0: has a port above'],
    [
      { model: 'a/b', search: SERVERLESS, traceEndpoint: 'https://a.example/v1/traces' },
      'own.traceEndpoint: ends with /v1/traces',
    ],
    [{ model: 'a/b', search: SERVERLESS, allowedHosts: ['http://a.example'] }, 'own.allowedHosts.0: is not a host'],
    [{ model: 'a/b', search: SERVERLESS, throttle: { rate: 0, burst: 1 } }, 'own.throttle.rate: '],
    [{ model: 'a/b', search: SERVERLESS, encryptionKey: 'alias/mine' }, 'own.encryptionKey: is not an ARN of kms'],
    [
      { model: 'a/b', search: SERVERLESS, encryptionKey: 'arn:aws:kms:us-east-1:111122223333:alias/mine' },
      'own.encryptionKey: is not the ARN of a key',
    ],
    [{ model: 'a/b', search: { kind: 'elastic' } }, 'own.search.kind: '],
    [{ model: 'a/b', search: { ...DOMAIN, instance: 't3.small.search', standby: true } }, 'own.search.standby: '],
    [{ model: 'a/b', search: { ...DOMAIN, nodes: 4, standby: true } }, 'own.search.nodes: must be a multiple of 3'],
    [
      {
        model: 'a/b',
        search: SERVERLESS,
        customDomain: { ...DOMAIN_NAME, hostedZone: { id: 'Z1', name: 'ample.com' } },
      },
      'own.customDomain.hostedZone.name: is not a zone that contains the name',
    ],
    [{ model: 'a/b', search: SERVERLESS, modle: 'x' }, 'modle'],
    [{ model: 'a/b', search: SERVERLESS, restoredTable: { name: 'a/b', stream: STREAM } }, 'own.restoredTable.name: '],
    [{ model: 'a/b', search: SERVERLESS, restoredTable: { name: 'restored' } }, 'own.restoredTable.stream: '],
    [
      { model: 'a/b', search: SERVERLESS, restoredTable: { name: 'restored', stream: 'arn:aws:sqs:x' } },
      "own.restoredTable.stream: is not the ARN of a table's stream",
    ],
    [
      { model: 'a/b', search: SERVERLESS, restoredTable: { name: 'another', stream: STREAM } },
      'own.restoredTable.stream: is the stream of another table',
    ],
  ])('reject %j with the name of the setting', (settings, expected) =>
    expect(messageOf(() => environmentOf(settings as Parameters<typeof environmentOf>[0]))).toContain(expected),
  )

  test.each([
    ['encryptionKey', { encryptionKey: 'arn:aws:kms:us-east-1:111122223333:key/1' }],
    [
      'customDomain.certificate',
      { customDomain: { ...DOMAIN_NAME, certificate: 'arn:aws:acm:us-east-1:111122223333:certificate/1' } },
    ],
    [
      'restoredTable.stream',
      { restoredTable: { name: 'restored', stream: STREAM.replace('eu-central-1', 'us-east-1') } },
    ],
  ])('reject %s in another region when the stacks are built', (setting, more) => {
    const environment = environmentOf({ model: 'a/b', search: SERVERLESS, ...more })
    expect(messageOf(() => createStacks(createApp(), environment, { region: 'eu-central-1' }))).toBe(
      `own.${setting}: is in us-east-1, and the environment in eu-central-1: they must be in one`,
    )
    expect(messageOf(() => createStacks(createApp(), environment, { region: 'us-east-1' }))).toBe('')
  })

  test('pass allowed hosts to both functions that execute runs, and set no variable if there are none', () => {
    const hostsOf = (allowedHosts: string[]): unknown[] =>
      variablesNamed('TOOLTRAIL_ALLOWED_HOSTS', { model: 'a/b', search: SERVERLESS, allowedHosts })
    const allowed = hostsOf(['tools.example.com:8080', '[2001:db8::1]'])
    expect(allowed).toEqual(Array(2).fill('tools.example.com:8080,[2001:db8::1]'))
    expect(readSettings({ TOOLTRAIL_ALLOWED_HOSTS: allowed[0] }).allowedHosts).toHaveLength(2)
    expect(hostsOf([])).toEqual([])
  })

  test('pass tenant budgets to both functions that accept runs, in a readable form', () => {
    const tenantBudget = { dollarsPerDay: 5, tenants: { acme: { tokensPerDay: null, dollarsPerDay: 40 } } }
    const found = variablesNamed('TOOLTRAIL_TENANT_BUDGETS', { model: 'a/b', search: SERVERLESS, tenantBudget })
    expect(found).toEqual(Array(2).fill('{"acme":{"tokens_per_day":null,"usd_per_day":40}}'))
    expect(
      capSettings({ TOOLTRAIL_TENANT_BUDGETS: capVariables.TOOLTRAIL_TENANT_BUDGETS.parse(found[0]) }).named,
    ).toEqual(new Map([['acme', { tokensPerDay: null, dollarsPerDay: 40 }]]))
    expect(variablesNamed('TOOLTRAIL_TENANT_USD_PER_DAY', { model: 'a/b', search: SERVERLESS, tenantBudget })).toEqual([
      '5',
      '5',
    ])
    const tenants = { 'Acme Inc': {} }
    expect(messageOf(() => environmentOf({ model: 'a/b', search: SERVERLESS, tenantBudget: { tenants } }))).toContain(
      'own.tenantBudget.tenants',
    )
  })

  test('reject a name that is too long for a collection', () =>
    expect(messageOf(() => environmentOf({ model: 'a/b', search: SERVERLESS }, 'a-name-too-long'))).toContain(
      'up to 12 lower case letters',
    ))
})
