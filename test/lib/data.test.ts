import { CreateTableCommand, ResourceInUseException, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTableIfAbsent } from '../../functions/adapters/dynamodb/create-table.ts'
import { environmentNamed, environmentOf, ofType, synthesise, type Synthesised } from './synthesise.ts'

const SERVERLESS = { model: 'a/b', search: { kind: 'serverless' } } as const
const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'

let dev: Synthesised
let prod: Synthesised
beforeAll(() => {
  dev = synthesise(environmentNamed('dev'))
  prod = synthesise(environmentNamed('prod'))
})

const tableOf = (made: Synthesised) => ofType(made, 'AWS::DynamoDB::Table').map(([, table]) => table)[0]

/** Creates the table as the program does, with responses from `response`. Returns the requests. */
async function requested(response: (command: object) => object): Promise<object[]> {
  const sent: object[] = []
  const client = {
    config: {},
    send: (command: { input: object }) => {
      sent.push(command.input)
      return Promise.resolve(response(command))
    },
  } as unknown as DynamoDBClient
  await createTableIfAbsent(client, 'log')
  return sent
}

describe('the table', () => {
  test('equals the table that the program creates: keys, indexes, stream and lifetime', async () => {
    const table = { TableStatus: 'ACTIVE' }
    const sent = await requested(() => ({ Table: table }))
    const [create] = sent as [Record<string, unknown>]
    const { TableName: _, StreamSpecification: stream, AttributeDefinitions: attributes, ...rest } = create
    const made = tableOf(dev)?.Properties ?? {}
    expect(made).toMatchObject(rest)
    expect(made['StreamSpecification']).toEqual({
      StreamViewType: (stream as { StreamViewType: string }).StreamViewType,
    })
    expect(new Set(made['AttributeDefinitions'] as object[])).toEqual(new Set(attributes as object[]))
    const lifetime = sent.find((input) => 'TimeToLiveSpecification' in input)
    expect(made['TimeToLiveSpecification']).toEqual(
      (lifetime as { TimeToLiveSpecification: object }).TimeToLiveSpecification,
    )
  })

  test('is retained, protected and backed up in prod', () => {
    expect(tableOf(prod)).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      },
    })
  })

  test('is deleted with its stack in dev', () =>
    expect(tableOf(dev)).toMatchObject({ DeletionPolicy: 'Delete', Properties: { DeletionProtectionEnabled: false } }))

  test('is encrypted with the key of the environment', () => {
    const own = synthesise(environmentOf({ ...SERVERLESS, encryptionKey: KEY }))
    expect(tableOf(own)?.Properties['SSESpecification']).toEqual({
      KMSMasterKeyId: KEY,
      SSEEnabled: true,
      SSEType: 'KMS',
    })
  })
})

describe('every bucket', () => {
  test.each(['dev', 'prod'])(
    'of %s is private, refuses requests without TLS, and aborts unfinished uploads',
    (name) => {
      const made = name === 'dev' ? dev : prod
      const buckets = ofType(made, 'AWS::S3::Bucket')
      const policies = JSON.stringify(ofType(made, 'AWS::S3::BucketPolicy'))
      expect(buckets.length).toBeGreaterThanOrEqual(2)
      for (const [id, { Properties }] of buckets) {
        expect(Properties['PublicAccessBlockConfiguration'], id).toEqual({
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        })
        expect(policies, id).toContain(`{"Bucket":{"Ref":"${id.split('/')[1]}"}`)
        expect(Properties['LifecycleConfiguration'], id).toBeDefined()
      }
      for (const [, policy] of ofType(made, 'AWS::S3::BucketPolicy'))
        expect(JSON.stringify(policy.Properties['PolicyDocument'])).toContain('"aws:SecureTransport":"false"')
    },
  )

  test('with message content is encrypted with the key of the environment', () => {
    const own = synthesise(environmentOf({ ...SERVERLESS, encryptionKey: KEY }))
    const keys = ofType(own, 'AWS::S3::Bucket').map(([id, { Properties }]) => [id, JSON.stringify(Properties)] as const)
    expect(keys).toHaveLength(2)
    for (const [id, properties] of keys) expect(properties, id).toContain(`"KMSMasterKeyID":"${KEY}"`)
  })

  test('for outputs is logged in prod, and retained', () => {
    const [, outputs] = ofType(prod, 'AWS::S3::Bucket').find(([id]) => id.includes('OutputsBucket')) ?? []
    expect(outputs?.DeletionPolicy).toBe('RetainExceptOnCreate')
    expect(outputs?.Properties['LoggingConfiguration']).toBeDefined()
  })
})

test('an existing table is accepted, and its TTL setting is not updated', async () => {
  const taken = new ResourceInUseException({ message: 'there is one', $metadata: {} })
  const sent = await requested((command) => {
    if (command instanceof CreateTableCommand) throw taken
    return {}
  })
  expect(sent.some((input) => input instanceof UpdateTimeToLiveCommand)).toBe(false)
})
