import { describe, expect, test } from 'vitest'
import { HouseChecks } from '../../lib/checks.ts'
import { createStacks } from '../../lib/create-stacks.ts'
import { environmentNames } from '../../lib/environments.ts'
import {
  environmentNamed,
  createApp,
  environmentOf,
  ofType,
  synthesise,
  type Resource,
  type Synthesised,
} from './synthesise.ts'
import { VARIANTS } from './variants.ts'

const environments = [...environmentNames().map(environmentNamed), ...VARIANTS]
const dev = synthesise(environmentNamed('dev'))
const prod = synthesise(environmentNamed('prod'))

describe.each(environments)('$name', (environment) => {
  test('has no unacknowledged finding of AwsSolutions', () => {
    const app = createApp()
    createStacks(app, environment)
    const { violations } = new HouseChecks(app).validateScope(app)
    expect(violations.map(({ ruleName, violatingResources }) => [ruleName, violatingResources])).toEqual([])
  })
})

test('the table has the tags of the environment and its name', () => {
  const made = synthesise(environmentOf({ model: 'a/b', search: { kind: 'serverless' }, tags: { team: 'blue' } }))
  const [table] = Object.values(made.resources).filter(({ Type }) => Type === 'AWS::DynamoDB::Table')
  expect(table?.Properties['Tags']).toEqual([
    { Key: 'team', Value: 'blue' },
    { Key: 'tooltrail:environment', Value: 'own' },
  ])
})

test('a collection has no configurable tags, because its tags cannot change', () => {
  const settings = { model: 'a/b', search: { kind: 'serverless' }, retain: false } as const
  const [one, two] = ['blue', 'red'].map((team) => synthesise(environmentOf({ ...settings, tags: { team } })))
  const collections = [one, two].map((made) => made && ofType(made, 'AWS::OpenSearchServerless::Collection'))
  expect(collections[0]).toEqual(collections[1])
  const [[, group] = []] = one === undefined ? [] : ofType(one, 'AWS::OpenSearchServerless::CollectionGroup')
  expect(group?.Properties['Tags']).toContainEqual({ Key: 'team', Value: 'blue' })
})

describe('deleting an environment', () => {
  test.each(['prod', 'mine'])('of %s is refused, because every stack is protected', (name) => {
    const environment = [...environments].find((one) => one.name === name)
    const stacks = environment === undefined ? [] : Object.values(createStacks(createApp(), environment))
    expect(stacks.map(({ terminationProtection }) => terminationProtection)).toEqual([true, true, true, true])
  })

  const staying = (made: Synthesised): string[] =>
    Object.entries(made.resources)
      .filter(([, { DeletionPolicy }]) => DeletionPolicy?.startsWith('Retain'))
      .map(([, { Type }]) => Type)

  test('in dev leaves only the API Gateway role that exists once per account', () =>
    expect(new Set(staying(dev))).toEqual(new Set(['AWS::ApiGateway::Account', 'AWS::IAM::Role'])))

  test.each(environments)(
    'after a failed deployment leaves no resource of $name that blocks the next attempt',
    (environment) => {
      for (const [id, { Type, DeletionPolicy }] of Object.entries(synthesise(environment).resources)) {
        // The role with which API Gateway writes logs belongs to the account, so it has none of our names.
        if (Type === 'AWS::ApiGateway::Account' || id.includes('CloudWatchRole')) continue
        expect([undefined, 'Delete', 'RetainExceptOnCreate'], id).toContain(DeletionPolicy)
      }
    },
  )

  test('in prod retains resources with data, and the logs of its functions', () => {
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
  test('have no resource name in common', () => {
    const firewall = { requestsPerAddress: 100 }
    const settings = { model: 'a/b', search: { kind: 'serverless' }, firewall } as const
    const [one, two] = ['one', 'two'].map((name) => namesOf(synthesise(environmentOf(settings, name)))) as [
      string[],
      string[],
    ]
    expect(one.length).toBeGreaterThan(15)
    expect(one.filter((name) => two.includes(name))).toEqual([])
  })
})

/** Names of stages, inline policies and metrics. Such a name needs to be unique only within its parent resource. */
const NOT_UNIQUE = /^AWS::ApiGateway::Stage |^AWS::IAM::Policy | MetricName /

/** The metric name of a firewall, if the resource is one. CloudWatch identifies a firewall by this name. */
const metricOf = ({ VisibilityConfig: config }: Resource['Properties']): [string, unknown][] =>
  config === undefined ? [] : [['VisibilityConfigName', (config as { MetricName: string }).MetricName]]

/** Names that must be unique in an account and region, each with its type. */
const namesOf = ({ resources }: Synthesised): string[] =>
  Object.values(resources)
    .flatMap(({ Type, Properties }) =>
      [...Object.entries(Properties), ...metricOf(Properties)].flatMap(([key, value]) =>
        /^([A-Z]\w*)?Name$/.test(key) && typeof value === 'string' ? [`${Type} ${key} ${value}`] : [],
      ),
    )
    .filter((name) => !NOT_UNIQUE.test(name))
