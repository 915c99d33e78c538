import { describe, expect, test } from 'vitest'
import { environmentNames, type EnvironmentSettings } from '../../../lib/environments.ts'
import { checkFixedSettings } from '../../../lib/fixed-settings.ts'
import { environmentNamed, environmentOf, synthesise, type Synthesised } from '../synthesise.ts'
import { VARIANTS } from '../variants.ts'
import { KNOWN_TYPES, replacementsBetween, type Replacement } from './replacements.ts'
import { CHANGES } from './settings-changes.ts'

const BASES: readonly EnvironmentSettings[] = [
  { model: 'a/b', search: { kind: 'serverless' } },
  { model: 'a/b', search: { kind: 'domain', instance: 'r7g.large.search', nodes: 3 } },
]
/** Settings that affect the search stack. The test changes them once for each kind of index. */
const OF_SEARCH = new Set(['search', 'retain', 'tags', 'encryptionKey', 'operators', 'vpc', 'permissionsBoundary'])

/** Resource types that hold data, or whose address people know. A changed setting must not replace such a resource. */
const KEPT = new Set([
  ...['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SecretsManager::Secret', 'AWS::OpenSearchService::Domain'],
  ...['AWS::OpenSearchServerless::Collection', 'AWS::ApiGateway::RestApi', 'AWS::SQS::Queue'],
])

interface Deployed {
  readonly made: Synthesised
  readonly environment: ReturnType<typeof environmentOf>
}

function deploy(settings: EnvironmentSettings): Deployed {
  const environment = environmentOf(settings)
  return { environment, made: synthesise(environment) }
}

/**
 * Returns the resources whose replacement AWS would refuse, or whose data or address the replacement would lose. Empty if
 * `checkFixedSettings` refuses the update.
 */
function faultsBetween(before: Deployed, after: Deployed): Replacement[] {
  const outputs = Object.fromEntries(
    Object.entries(before.made.search.findOutputs('*')).map(([name, output]) => [name, String(output['Value'])]),
  )
  try {
    checkFixedSettings(after.environment, outputs)
  } catch {
    return []
  }
  return replacementsBetween(before.made, after.made).filter(({ hasFixedName, type }) => hasFixedName || KEPT.has(type))
}

const DEPLOYED = BASES.map((base) => ({ base, without: deploy(base) }))
const changed = Object.entries(CHANGES).filter(([, values]) => values.length > 0)

test.each(changed)('a change of %s replaces no resource with a fixed name or with data', (setting, values) => {
  const bases = OF_SEARCH.has(setting) ? DEPLOYED : DEPLOYED.slice(0, 1)
  const faults = bases.flatMap(({ base, without }) => {
    const states = [...values.map((value) => deploy({ ...base, [setting]: value })), without]
    return states.flatMap((after, index) => faultsBetween(states[index - 1] ?? without, after))
  })
  expect(faults).toEqual([])
})

test('the snapshot, which refresh.sh updates, lists every resource type of the templates', () => {
  for (const environment of [...environmentNames().map(environmentNamed), ...VARIANTS])
    for (const [id, { Type }] of Object.entries(synthesise(environment).resources))
      expect(KNOWN_TYPES, id).toContain(Type)
})

describe('the comparison of two templates', () => {
  const made = synthesise(environmentOf(BASES[0] as EnvironmentSettings))
  const withProperties = (type: string, properties: object): Synthesised => ({
    ...made,
    resources: Object.fromEntries(
      Object.entries(made.resources).map(([id, one]) => [
        id,
        one.Type === type ? { ...one, Properties: { ...one.Properties, ...properties } } : one,
      ]),
    ),
  })

  test('finds a resource with a fixed name whose create-only property changes', () => {
    const found = replacementsBetween(made, withProperties('AWS::OpenSearchServerless::Collection', { Tags: [] }))
    expect(found).toMatchObject([{ because: ['Tags'], hasFixedName: true }])
  })

  test('accepts a property that can change in place', () => {
    expect(replacementsBetween(made, withProperties('AWS::Lambda::Function', { MemorySize: 1 }))).toEqual([])
  })

  test('finds a name that moves to another logical id', () => {
    const moved = Object.entries(made.resources).map(([id, one]) => [
      one.Type === 'AWS::CloudWatch::Dashboard' ? `${id}2` : id,
      one,
    ])
    const found = replacementsBetween(made, {
      ...made,
      resources: Object.fromEntries(moved) as Synthesised['resources'],
    })
    expect(found).toMatchObject([{ type: 'AWS::CloudWatch::Dashboard', hasFixedName: true }])
  })
})
