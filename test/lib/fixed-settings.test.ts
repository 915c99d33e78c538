/* Evidence, cloud: No change of a setting replaces a resource that has a fixed name or holds data. */
import { expect, test } from 'vitest'
import { createStacks } from '../../lib/create-stacks.ts'
import { readEnvironment } from '../../lib/environments.ts'
import { checkFixedSettings } from '../../lib/fixed-settings.ts'
import { createApp, environmentOf, synthesise } from './synthesise.ts'

const KEYS = [1, 2].map((n) => `arn:aws:kms:us-east-1:111122223333:key/${n}`)
const SERVERLESS = { model: 'a/b', search: { kind: 'serverless' } } as const
const DOMAIN = { model: 'a/b', search: { kind: 'domain', instance: 'r7g.large.search', nodes: 3 } } as const

/** The outputs of a search stack with these settings. */
const deployedOf = (encryptionKey: string | undefined, settings: typeof SERVERLESS | typeof DOMAIN = SERVERLESS) => {
  const outputs = synthesise(environmentOf({ ...settings, encryptionKey })).search.findOutputs('*')
  return Object.fromEntries(Object.entries(outputs).map(([name, { Value }]) => [name, String(Value)]))
}

test.each([
  [undefined, KEYS[0]],
  [KEYS[0], undefined],
  [KEYS[0], KEYS[1]],
])('the encryption key cannot change from %s to %s', (before, after) => {
  for (const settings of [SERVERLESS, DOMAIN])
    expect(() =>
      checkFixedSettings(environmentOf({ ...settings, encryptionKey: after }), deployedOf(before, settings)),
    ).toThrow(/^own\.encryptionKey: is .* encrypts a (domain|collection) with one key for good/)
})

test('an unchanged key, a first deployment and another kind of search are accepted', () => {
  const environment = environmentOf({ ...SERVERLESS, encryptionKey: KEYS[0] })
  expect(() => checkFixedSettings(environment, deployedOf(KEYS[0]))).not.toThrow()
  expect(() => checkFixedSettings(environment, undefined)).not.toThrow()
  expect(() => checkFixedSettings(environment, {})).not.toThrow()
  expect(() => checkFixedSettings(environment, deployedOf(undefined, DOMAIN))).not.toThrow()
})

const ROLE = 'arn:aws:iam::111122223333:role/deployer'

test('a deployment warns if no role may operate its index', () => {
  const notes = (settings: Parameters<typeof environmentOf>[0]): string =>
    createStacks(createApp(), environmentOf(settings))
      .search.node.metadata.filter(({ type }) => type === 'aws:cdk:info')
      .map(({ data }) => String(data))
      .join()
  expect(notes(SERVERLESS)).toContain('no role may rebuild, redrive or count the index')
  expect(notes({ ...SERVERLESS, operators: [ROLE] })).toBe('')
  expect(notes(DOMAIN)).toBe('')
})

test('-c operator adds a role to the configured roles', () => {
  const own = { own: { ...SERVERLESS, retain: false, operators: [`${ROLE}2`] } }
  expect(readEnvironment('own', { operator: ROLE }, own).operators).toEqual([`${ROLE}2`, ROLE])
  expect(readEnvironment('own', { operator: `${ROLE}2` }, own).operators).toEqual([`${ROLE}2`])
  expect(() => readEnvironment('own', { operator: 'me' }, own)).toThrow('own.operators.1: is not an ARN of iam')
})
