import { z } from 'zod'
import type { ProxiedRequest } from '../../faults/fault-proxy.ts'
import { ACCOUNT } from './template/resource-names.ts'
import { REGION } from '../../engines/region.ts'

export const SERVICES = ['dynamodb', 's3', 'sqs', 'secretsmanager', 'opensearch'] as const
export type Service = (typeof SERVICES)[number]

/** A permission that a request needs on AWS, named as in IAM. */
export interface RecordedCall {
  readonly action: string
  readonly resource: string
}

/**
 * Returns the permissions that AWS requires for this request. `search`: the name of the collection, or the ARN of the
 * domain. Throws for an unknown kind of request.
 */
export function permissionsOf(service: Service, request: ProxiedRequest, search: string): readonly RecordedCall[] {
  if (service !== 'opensearch') return PERMISSIONS[service](request)
  return search.startsWith('arn:') ? domainPermissions(request, search) : searchPermissions(request, search)
}

const PERMISSIONS: {
  readonly [service in Exclude<Service, 'opensearch'>]: (request: ProxiedRequest) => readonly RecordedCall[]
} = {
  dynamodb: dynamodbPermissions,
  s3: s3Permissions,
  sqs: (request) => {
    const { QueueUrl } = z.object({ QueueUrl: z.string() }).parse(bodyOf(request))
    const name = new URL(QueueUrl).pathname.split('/').at(-1) ?? ''
    return [{ action: `sqs:${operationOf(request)}`, resource: `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}` }]
  },
  secretsmanager: (request) => {
    const { SecretId } = z.object({ SecretId: z.string() }).parse(bodyOf(request))
    const arn = `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:${SecretId}-AbCdEf`
    return [
      { action: `secretsmanager:${operationOf(request)}`, resource: SecretId.startsWith('arn:') ? SecretId : arn },
    ]
  },
}

const operationOf = ({ headers }: ProxiedRequest): string => String(headers['x-amz-target'] ?? '').replace(/^.*\./, '')
const bodyOf = ({ body }: ProxiedRequest): unknown => JSON.parse(body.toString())

const Item = z.object({ TableName: z.string() })
const Transaction = z.object({
  TransactItems: z.array(
    z.object({
      Put: Item.optional(),
      Update: Item.optional(),
      Delete: Item.optional(),
      ConditionCheck: Item.optional(),
      Get: Item.optional(),
    }),
  ),
})
const ITEM_KINDS = ['Put', 'Update', 'Delete', 'ConditionCheck', 'Get'] as const

const tableArn = (name: string): string => `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${name}`

/**
 * Permissions of a DynamoDB request. A transaction needs the permission of each item operation. A batch needs its own
 * permission on each table.
 */
function dynamodbPermissions(request: ProxiedRequest): readonly RecordedCall[] {
  const operation = operationOf(request)
  const body = bodyOf(request)
  if (operation === 'TransactWriteItems' || operation === 'TransactGetItems')
    return Transaction.parse(body).TransactItems.flatMap((item) =>
      ITEM_KINDS.flatMap((kind) => {
        const table = item[kind]?.TableName
        return table === undefined ? [] : [{ action: `dynamodb:${kind}Item`, resource: tableArn(table) }]
      }),
    )
  if (operation.startsWith('Batch')) {
    const { RequestItems } = z.object({ RequestItems: z.record(z.string(), z.unknown()) }).parse(body)
    return Object.keys(RequestItems).map((name) => ({ action: `dynamodb:${operation}`, resource: tableArn(name) }))
  }
  const { TableName, IndexName } = z.object({ TableName: z.string(), IndexName: z.string().optional() }).parse(body)
  const index = IndexName === undefined ? '' : `/index/${IndexName}`
  return [{ action: `dynamodb:${operation}`, resource: tableArn(TableName) + index }]
}

/** Permissions by method and first query parameter, as in S3's documentation. */
const OBJECT_ACTIONS: Readonly<Record<string, string>> = {
  GET: 'GetObject',
  HEAD: 'GetObject',
  PUT: 'PutObject',
  DELETE: 'DeleteObject',
  'POST uploads': 'PutObject',
  'POST uploadId': 'PutObject',
  'DELETE uploadId': 'AbortMultipartUpload',
  'GET uploadId': 'ListMultipartUploadParts',
}

function s3Permissions({ method, path, body }: ProxiedRequest): readonly RecordedCall[] {
  const { pathname, searchParams } = new URL(path, 'http://s3')
  const [bucket = '', ...rest] = pathname.slice(1).split('/').map(decodeURIComponent)
  const arn = `arn:aws:s3:::${bucket}`
  const key = rest.join('/')
  if (key !== '') {
    const kind = ['uploads', 'uploadId'].find((name) => searchParams.has(name) && method !== 'PUT')
    const action = OBJECT_ACTIONS[kind === undefined ? method : `${method} ${kind}`]
    if (action === undefined) throw new Error(`unknown S3 request: ${method} ${path}`)
    return [{ action: `s3:${action}`, resource: `${arn}/${key}` }]
  }
  if (method === 'POST' && searchParams.has('delete'))
    return [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name]) => ({
      action: 's3:DeleteObject',
      resource: `${arn}/${name}`,
    }))
  if (method === 'GET' || method === 'HEAD') return [{ action: 's3:ListBucket', resource: arn }]
  throw new Error(`unknown S3 request: ${method} ${path}`)
}

/**
 * Name of each operation in the data access policies of a serverless collection, as its documentation lists them. A
 * caller of a collection also needs `aoss:APIAccessAll` on the collection.
 */
const SEARCH_ACTIONS: readonly (readonly [RegExp, string])[] = [
  [/^(GET|POST) \/[^/]+\/_(search|count|msearch|mget|termvectors|validate\/query)$/, 'ReadDocument'],
  [/^(GET|POST) \/_(search|msearch|mget)$/, 'ReadDocument'],
  [/^(GET|HEAD) \/[^/]+\/_doc\/[^/]+$/, 'ReadDocument'],
  [/^(POST|DELETE) \/([^/]+\/)?_search\/point_in_time(\/_all)?$/, 'ReadDocument'],
  [/^(POST|PUT) \/([^/]+\/)?_bulk$/, 'WriteDocument'],
  [/^(POST|PUT|DELETE) \/[^/]+\/_(doc|create|update)(\/[^/]+)?$/, 'WriteDocument'],
  [/^(GET|HEAD) \/([^/]+\/)?_alias(\/[^/]+)?$/, 'DescribeCollectionItems'],
  [/^POST \/_aliases$/, 'UpdateCollectionItems'],
  [/^GET \/_(resolve\/index|cat\/indices)(\/[^/]+)?$/, 'DescribeIndex'],
  [/^(GET|HEAD) \/[^/_][^/]*(\/_(mapping|settings))?$/, 'DescribeIndex'],
  [/^PUT \/[^/_][^/]*$/, 'CreateIndex'],
  [/^PUT \/[^/_][^/]*\/_(mapping|settings)$/, 'UpdateIndex'],
  [/^DELETE \/[^/_][^/]*$/, 'DeleteIndex'],
]

/** Permissions of a request to a search domain, determined by its method and path. */
function domainPermissions({ method, path }: ProxiedRequest, arn: string): readonly RecordedCall[] {
  const action = `es:ESHttp${method.slice(0, 1)}${method.slice(1).toLowerCase()}`
  return [{ action, resource: arn + new URL(path, 'http://search').pathname }]
}

function searchPermissions({ method, path, body }: ProxiedRequest, collection: string): readonly RecordedCall[] {
  const { pathname } = new URL(path, 'http://search')
  const action = SEARCH_ACTIONS.find(([pattern]) => pattern.test(`${method} ${pathname}`))?.[1]
  if (action === undefined) throw new Error(`unknown OpenSearch request: ${method} ${path}`)
  const targets = action.endsWith('CollectionItems')
    ? [`collection/${collection}`]
    : indexesOf(pathname, body).map((name) => `index/${collection}/${name}`)
  return [
    { action: 'aoss:APIAccessAll', resource: `arn:aws:aoss:${REGION}:${ACCOUNT}:collection/${collection}` },
    ...targets.map((resource) => ({ action: `aoss:${action}`, resource })),
  ]
}

/** The indexes that a request names, in its path or in its body. */
function indexesOf(pathname: string, body: Buffer): readonly string[] {
  const parts = pathname.slice(1).split('/')
  if (pathname === '/_bulk') {
    const names = [...body.toString().matchAll(/"_index":\s*"([^"]+)"/g)].map((match) => match[1] ?? '')
    return [...new Set(names)]
  }
  if (parts[0] === '_resolve') return [parts[2] ?? '*']
  return [parts[0]?.startsWith('_') === false ? decodeURIComponent(parts[0]) : '*']
}
