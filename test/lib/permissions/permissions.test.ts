/* Evidence, access: The day of a key's last use is stored. Functions on AWS may store it, but cannot change keys. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { describe, expect, test } from 'vitest'
import { createDynamoKeyStore } from '../../../functions/adapters/dynamodb/key-store.ts'
import { partitionOf } from '../../../functions/adapters/dynamodb/keys.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createOpenSearchHistoryWriter } from '../../../functions/adapters/opensearch/history-writer.ts'
import { INDEX_VERSION } from '../../../functions/adapters/opensearch/indexed-document.ts'
import type { SearchClient } from '../../../functions/adapters/opensearch/requests.ts'
import { environmentNamed, environmentOf, ofType, synthesise, type Synthesised } from '../synthesise.ts'

interface Statement {
  readonly Effect: 'Allow' | 'Deny'
  readonly Action: string | string[]
  readonly Resource: unknown
}

const listOf = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value])

/** Permissions of each function's role, each as `action resource`. `…` replaces parts that CloudFormation fills in. */
function rightsOf(made: Synthesised): Map<string, string[]> {
  const rights = new Map<string, string[]>()
  for (const [, { Properties }] of ofType(made, 'AWS::IAM::Policy')) {
    const name = /Tooltrail(\w+)RoleDefaultPolicy/.exec(String(Properties['PolicyName']))?.[1]?.toLowerCase() ?? 'other'
    const { Statement: statements } = Properties['PolicyDocument'] as { Statement: Statement[] }
    const allowed = statements
      .filter(({ Effect }) => Effect === 'Allow')
      .flatMap(({ Action, Resource }) =>
        listOf(Action).flatMap((action) => listOf(Resource).map((resource) => `${action} ${render(resource)}`)),
      )
    rights.set(name, [...(rights.get(name) ?? []), ...allowed].toSorted())
  }
  return rights
}

function render(resource: unknown): string {
  if (typeof resource === 'string') return resource
  const { 'Fn::Join': join } = resource as { 'Fn::Join'?: [string, unknown[]] }
  return join === undefined ? '…' : join[1].map(render).join(join[0])
}

/**
 * Writes to a domain without an index; the created index has no alias of its own yet. Returns the rights that the sent requests
 * need.
 */
async function requestsOfWrites(): Promise<ReadonlySet<string>> {
  const sent = new Set<string>()
  const index = `history-v${INDEX_VERSION}-first`
  let exists = false
  const request: SearchClient['transport']['request'] = async ({ method, path, bulkBody = '' }) => {
    sent.add(`es:ESHttp${method[0]}${method.slice(1).toLowerCase()} ${path.slice(1)}`)
    if (path === '/_bulk') return { statusCode: 200, body: { items: itemsOf(bulkBody) } }
    if (method === 'GET' && !exists) return { statusCode: 404, body: {} }
    exists ||= method === 'PUT'
    return { statusCode: 200, body: method === 'GET' ? { [index]: { aliases: { 'history-write': {} } } } : {} }
  }
  const writer = createOpenSearchHistoryWriter({
    client: { transport: { request }, close: async () => {} },
    alias: 'history',
    clock: createSystemClock(),
    indexDeadLetters: { send: async () => {} },
  })
  const key = { tenant: 'acme', session: 's' }
  const change = { key, messageId: 'm', revision: 1, documents: [], removed: ['text'] }
  expect(await writer.write([change])).toEqual([{ done: true }])
  return sent
}

/** Results for a bulk request: three for the writer's probe of a new index, and one for a write. */
const itemsOf = (body: string): object[] =>
  (body.trim().split('\n').length === 5 ? [201, 409, 200] : [200]).map((status) => ({ index: { status } }))

/** Converts a role's right to a pattern for requests. */
function toPattern(right: string): RegExp {
  const [action = '', path = ''] = right.split(/ .*?\//)
  return new RegExp(`^${RegExp.escape(`${action} ${path}`).replaceAll('\\*', '.*')}$`)
}

const prod = synthesise(environmentNamed('prod'))
const dev = synthesise(environmentNamed('dev'))

const LOGS = 'logs: CreateLogStream PutLogEvents'

const RIGHTS = {
  api: [
    'aoss: APIAccessAll',
    'dynamodb: BatchGetItem ConditionCheckItem DeleteItem PutItem Query Query Query UpdateItem',
    LOGS,
    's3: AbortMultipartUpload DeleteObject GetObject ListBucket PutObject',
    'secretsmanager: GetSecretValue',
    'sqs: SendMessage',
  ],
  worker: [
    'aoss: APIAccessAll',
    'dynamodb: BatchGetItem ConditionCheckItem DeleteItem PutItem Query Query Query UpdateItem',
    LOGS,
    's3: AbortMultipartUpload DeleteObject GetObject ListBucket PutObject',
    'secretsmanager: GetSecretValue',
    'sqs: DeleteMessage GetQueueAttributes ReceiveMessage SendMessage',
  ],
  indexer: [
    'aoss: APIAccessAll',
    'dynamodb: BatchGetItem ConditionCheckItem DescribeStream GetRecords GetShardIterator ListStreams Query UpdateItem',
    LOGS,
    's3: GetObject ListBucket ListBucket PutObject',
    'sqs: SendMessage SendMessage',
  ],
  sweeper: [
    'dynamodb: BatchGetItem ConditionCheckItem DeleteItem PutItem Query Query Scan UpdateItem',
    LOGS,
    's3: DeleteObject DeleteObject GetObject GetObject ListBucket ListBucket PutObject',
    'sqs: SendMessage',
  ],
  /** The permission of EventBridge to publish to the topic of alarms. */
  other: ['sns: Publish'],
}

describe('the permissions of the functions', () => {
  test("equal the recorded list of each service's actions", () => {
    const services = [...rightsOf(dev)].map(([name, rights]) => {
      const actions = rights.map((right) => right.split(' ')[0]?.split(':') ?? [])
      const byService = Object.groupBy(actions, ([service]) => service ?? '')
      return [
        name,
        Object.entries(byService).map(([service, of]) => `${service}: ${of?.map(([, action]) => action).join(' ')}`),
      ]
    })
    expect(Object.fromEntries(services)).toEqual(RIGHTS)
  })

  test('let no function create, change or remove an API key', async () => {
    const partitions: string[] = []
    const send = async ({ input }: { input: { TransactItems?: { Put: { Item: { pk: { S: string } } } }[] } }) =>
      void partitions.push(...(input.TransactItems ?? []).map(({ Put }) => Put.Item.pk.S))
    const client = { send } as unknown as DynamoDBClient
    const keys = createDynamoKeyStore({ client, tableName: 'log', clock: createSystemClock() })
    await keys.create('hash', { id: 'a', tenant: 'acme', scopes: ['read'], caps: {}, createdAt: 0 })
    expect(partitions).toHaveLength(2)
    const denials = ofType(prod, 'AWS::IAM::Policy').flatMap(([, { Properties }]) =>
      (Properties['PolicyDocument'] as { Statement: (Statement & { Condition?: object })[] }).Statement.filter(
        ({ Effect }) => Effect === 'Deny',
      ),
    )
    expect(denials).toHaveLength(4)
    for (const { Action, Condition } of denials) {
      expect(new Set(Action)).toEqual(new Set(['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem']))
      const denied = { 'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': ['K#*', 'KEYS'] } }
      expect(Condition).toEqual(denied)
      for (const partition of partitions) expect(partition).toMatch(/^(K#.*|KEYS)$/)
    }
    // The functions may write the partitions of sessions and of keys' rates, so the pattern must not match them.
    for (const own of [partitionOf({ tenant: 'KEYS', session: 'K' }), 'R#']) expect(own).not.toMatch(/^(K#.*|KEYS)$/)
  })

  test('name every action without a *', () => {
    for (const made of [dev, prod])
      for (const [name, rights] of rightsOf(made))
        expect(
          rights.filter((right) => right.split(' ')[0]?.includes('*')),
          name,
        ).toEqual([])
  })

  test('name every resource, except objects, indexes and regions with unknown names', () => {
    const open = [...rightsOf(prod).values()].flat().filter((right) => right.includes('*'))
    expect([...new Set(open)].toSorted()).toEqual([
      'bedrock:InvokeModel arn:…:bedrock:*::foundation-model/anthropic.claude-sonnet-5-5',
      'bedrock:InvokeModelWithResponseStream arn:…:bedrock:*::foundation-model/anthropic.claude-sonnet-5-5',
      'es:ESHttpGet …/_alias/history-*',
      'es:ESHttpPut …/history-v*',
      's3:AbortMultipartUpload …/*',
      's3:DeleteObject …/*',
      's3:GetObject …/*',
      's3:PutObject …/*',
    ])
  })

  test('for models cover those of the agents, and are absent without a Bedrock model', () => {
    expect(JSON.stringify([...rightsOf(dev)])).not.toContain('bedrock:')
    const { api } = Object.fromEntries(rightsOf(prod))
    expect(
      api?.filter((right) => right.startsWith('bedrock:InvokeModel ')).map((right) => right.split('/')[1]),
    ).toEqual(['anthropic.claude-sonnet-5-5', 'us.anthropic.claude-sonnet-5-5'])
    const plain = environmentOf({ model: 'bedrock/amazon.nova-pro-v1:0', search: { kind: 'serverless' } })
    expect(rightsOf(synthesise(plain)).get('worker')).toContain(
      'bedrock:InvokeModel arn:…:bedrock:…::foundation-model/amazon.nova-pro-v1:0',
    )
  })

  test('for a model with an ARN cover that ARN; for an inference profile, also the model behind it', () => {
    const arn = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/a1b2c3'
    const custom = 'arn:aws:bedrock:eu-central-1:111122223333:provisioned-model/d4e5f6'
    const statementsOf = (model: string): object[] => {
      const made = synthesise(environmentOf({ model: `bedrock/${model}`, search: { kind: 'serverless' } }))
      const [, policy] = ofType(made, 'AWS::IAM::Policy').find(([id]) => id.includes('WorkerRole')) ?? []
      const document = policy?.Properties['PolicyDocument'] as { Statement: Statement[] } | undefined
      return (document?.Statement ?? []).filter(({ Action }) => listOf(Action).includes('bedrock:InvokeModel'))
    }
    expect(statementsOf(custom)).toEqual([expect.objectContaining({ Resource: custom })])
    const throughProfile = { StringEquals: { 'bedrock:InferenceProfileArn': [arn] } }
    expect(statementsOf(arn)).toEqual([
      expect.objectContaining({ Resource: arn }),
      expect.objectContaining({ Condition: throughProfile }),
    ])
  })

  test('let only the indexer write the index, and only the worker receive hints', () => {
    const rights = Object.fromEntries(rightsOf(prod))
    const holders = (action: string): string[] =>
      Object.entries(rights)
        .filter(([, list]) => list.some((right) => right.startsWith(`${action} `)))
        .map(([name]) => name)
        .toSorted()
    expect(holders('es:ESHttpPut')).toEqual(['indexer'])
    expect(holders('sqs:ReceiveMessage')).toEqual(['worker'])
    expect(holders('dynamodb:GetRecords')).toEqual(['indexer'])
    expect(holders('secretsmanager:GetSecretValue')).toEqual(['api', 'worker'])
    expect(holders('dynamodb:Scan')).toEqual(['sweeper'])
  })

  test('let the indexer send every request for its writes, and let other functions only search', async () => {
    const requests = await requestsOfWrites()
    expect([...requests].toSorted()).toEqual([
      'es:ESHttpGet _alias/history',
      'es:ESHttpGet _alias/history-*',
      'es:ESHttpPost _aliases',
      'es:ESHttpPost _bulk',
      `es:ESHttpPut history-v${INDEX_VERSION}-first`,
    ])
    const { indexer = [], api = [], worker = [] } = Object.fromEntries(rightsOf(prod))
    const isGranted = (rights: readonly string[], request: string): boolean =>
      rights.some((right) => right.startsWith('es:') && toPattern(right).test(request))
    expect([...requests].filter((request) => !isGranted(indexer, request))).toEqual([])
    expect([...requests].filter((request) => isGranted([...api, ...worker], request))).toEqual([])
    for (const rights of [api, worker]) expect(isGranted(rights, 'es:ESHttpPost history/_search')).toBe(true)
  })

  test('let all four functions use the key of the environment', () => {
    const encryptionKey = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
    const own = synthesise(environmentOf({ model: 'a/b', search: { kind: 'serverless' }, encryptionKey }))
    const using = [...rightsOf(own)].filter(([, rights]) => rights.includes(`kms:GenerateDataKey ${encryptionKey}`))
    expect(using.map(([name]) => name).toSorted()).toEqual(['api', 'indexer', 'sweeper', 'worker'])
  })
})
