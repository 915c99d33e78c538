import { createHash } from 'node:crypto'
import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { itemBytes } from '../adapters/dynamodb/item-size.ts'
import type { Fault, ProxiedRequest } from './fault-proxy.ts'

const JSON_TYPE = 'application/x-amz-json-1.0'
const NAMESPACE = 'com.amazonaws.dynamodb.v20120810'

function respondWith(status: number, name: string, fields: object = {}): Fault['does'] {
  const body = JSON.stringify({ __type: `${NAMESPACE}#${name}`, message: `${name} made by a test`, ...fields })
  return { kind: 'respond', status, body, type: JSON_TYPE }
}

/** Name of the request's operation, such as `TransactWriteItems` or `Query`. */
export const operationOf = ({ headers }: Pick<ProxiedRequest, 'headers'>): string =>
  String(headers['x-amz-target'] ?? '').replace(/^.*\./, '')

/** The response to a write while another client's transaction holds one of its items. Reads never get this error. */
function conflict(request: ProxiedRequest): Fault['does'] | undefined {
  const operation = operationOf(request)
  if (operation === 'UpdateItem' || operation === 'PutItem') return respondWith(400, 'TransactionConflictException')
  if (operation !== 'TransactWriteItems') return undefined
  const { TransactItems } = JSON.parse(request.body.toString()) as { TransactItems: readonly unknown[] }
  const CancellationReasons = TransactItems.map((_, place) =>
    place === 0 ? { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' } : { Code: 'None' },
  )
  return respondWith(400, 'TransactionCanceledException', { CancellationReasons })
}

/** Known faults of DynamoDB and of the network. */
export const DYNAMODB_FAULTS: Readonly<Record<string, (request: ProxiedRequest) => Fault | undefined>> = {
  'a conflict with another transaction': (request) => {
    const does = conflict(request)
    return does && { at: 'before', does }
  },
  throttling: () => ({ at: 'before', does: respondWith(400, 'ProvisionedThroughputExceededException') }),
  'an internal error before the request was done': () => ({
    at: 'before',
    does: respondWith(500, 'InternalServerError'),
  }),
  'an internal error after the request was done': () => ({
    at: 'after',
    does: respondWith(500, 'InternalServerError'),
  }),
  'a connection that is cut before the request was done': () => ({ at: 'before', does: { kind: 'cut' } }),
  'a connection that is cut after the request was done': () => ({ at: 'after', does: { kind: 'cut' } }),
  'a request that gets no response and is never done': () => ({ at: 'before', does: { kind: 'silence' } }),
  'a request that is done and gets no response': () => ({ at: 'after', does: { kind: 'silence' } }),
}

/** AWS's limit for the items of one atomic write, in bytes. DynamoDB Local allows more. */
const WRITE_BYTES = 4 * 1024 * 1024

/**
 * Refuses atomic writes of more than 4 MB, like AWS but unlike DynamoDB Local. The size includes the stored
 * contents of items that are only changed, checked or removed.
 */
export function tooLarge(client: DynamoDBClient): (request: ProxiedRequest) => Promise<Fault | undefined> {
  return async (request) => {
    if (operationOf(request) !== 'TransactWriteItems') return undefined
    const { TransactItems } = JSON.parse(request.body.toString()) as { TransactItems: readonly TransactWriteItem[] }
    const sizes = await Promise.all(
      TransactItems.map(async ({ Put, ...others }) => {
        const { TableName, Key } = others.Update ?? others.Delete ?? others.ConditionCheck ?? {}
        if (Put?.Item !== undefined || TableName === undefined) return itemBytes(Put?.Item ?? {})
        return itemBytes((await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item ?? {})
      }),
    )
    if (sizes.reduce((sum, bytes) => sum + bytes, 0) <= WRITE_BYTES) return undefined
    return { at: 'before', does: respondWith(400, 'ValidationException') }
  }
}

/** Fails each request `times` times. After that, a request with the same bytes passes. */
export function firstTimes(times: number, choose: (request: ProxiedRequest) => Fault | undefined) {
  const count = timesSeen()
  return (request: ProxiedRequest): Fault | undefined => (count(request) <= times ? choose(request) : undefined)
}

/** Counts how often the same bytes were sent. */
export function timesSeen() {
  const seen = new Map<string, number>()
  return (request: Pick<ProxiedRequest, 'headers'> & { readonly body: string | Uint8Array }): number => {
    const id = createHash('sha256').update(operationOf(request)).update(request.body).digest('hex')
    const count = (seen.get(id) ?? 0) + 1
    seen.set(id, count)
    return count
  }
}
