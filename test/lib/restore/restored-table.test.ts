import { describe, expect, test } from 'vitest'
import { environmentOf, ofType, synthesise, type Synthesised } from '../synthesise.ts'

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
const STREAM = 'arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/2026-11-22T05:00:00.000'
const TABLE = 'arn:aws:dynamodb:eu-central-1:111122223333:table/restored'

const SETTINGS = {
  account: '111122223333',
  region: 'eu-central-1',
  model: 'a/b',
  search: { kind: 'serverless' },
  encryptionKey: KEY,
} as const
const before = synthesise(environmentOf(SETTINGS))
const after = synthesise(environmentOf({ ...SETTINGS, restoredTable: { name: 'restored', stream: STREAM } }))

const tablesOf = (made: Synthesised) => ofType(made, 'AWS::DynamoDB::Table')
const outputOf = (made: Synthesised, name: string): unknown => made.data.findOutputs('*')[name]?.['Value']

interface Statement {
  readonly Action: string | string[]
  readonly Resource: unknown
}

/**
 * Returns the resources on which roles may execute actions with this prefix. Each ARN is rendered as text. Its partition,
 * which is known only at deployment, becomes `aws`.
 */
function resourcesOf(made: Synthesised, action: string): string[] {
  const statements = ofType(made, 'AWS::IAM::Policy').flatMap(
    ([, { Properties }]) => (Properties['PolicyDocument'] as { Statement: Statement[] }).Statement,
  )
  const resources = statements
    .filter(({ Action }) => [Action].flat().some((one) => one.startsWith(action)))
    .flatMap(({ Resource }) => [Resource].flat().map(render))
  return [...new Set(resources)].toSorted()
}

function render(value: unknown): string {
  if (typeof value === 'string') return value
  const { 'Fn::Join': join, Ref: ref } = value as { 'Fn::Join'?: [string, unknown[]]; Ref?: string }
  if (ref === 'AWS::Partition') return 'aws'
  return join === undefined ? JSON.stringify(value) : join[1].map(render).join(join[0])
}

describe('an environment whose table was restored from a backup', () => {
  test('keeps the previous table unchanged', () => {
    expect(tablesOf(after)).toHaveLength(1)
    expect(tablesOf(after)).toEqual(tablesOf(before))
  })

  test('has four functions, all of which use the restored table', () => {
    const names = ofType(after, 'AWS::Lambda::Function').map(
      ([, { Properties }]) => (Properties['Environment'] as { Variables: Record<string, unknown> }).Variables,
    )
    expect(names.map((variables) => variables['TOOLTRAIL_TABLE'])).toEqual(Array(4).fill('restored'))
  })

  test('allows functions only that table, its indexes and its stream', () => {
    expect(resourcesOf(after, 'dynamodb:')).toEqual(
      [TABLE, `${TABLE}/index/by_due`, `${TABLE}/index/by_group`, `${TABLE}/index/by_owner`, STREAM].toSorted(),
    )
    expect(resourcesOf(after, 'kms:')).toEqual([KEY])
  })

  test('indexes changes of the restored table', () => {
    const sources = ofType(after, 'AWS::Lambda::EventSourceMapping').map(
      ([, { Properties }]) => Properties['EventSourceArn'],
    )
    expect(sources).toContain(STREAM)
  })

  test('outputs the restored table’s name for the commands that operate it', () => {
    expect(outputOf(after, 'TableName')).toBe('restored')
    expect(outputOf(after, 'StreamArn')).toBe(STREAM)
  })
})

test('an environment without a restored table uses only the table of its stack', () =>
  expect(resourcesOf(before, 'dynamodb:').join()).not.toContain('restored'))
