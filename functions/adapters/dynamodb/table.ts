import {
  BatchGetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient, QueryCommandInput, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Clock } from '../../ports/clock.ts'
import { requiredText, toItem, type Item } from './attributes.ts'
import { createScope, renderChange, type Change, type Condition } from './expressions.ts'
import type { ItemKey } from './keys.ts'
import { createRetry, refusalOf, type Refusal, type Retry } from './retry.ts'

/** One action of an atomic write. */
export type Action =
  /** An update without a condition creates a missing item. */
  | { readonly update: ItemKey; readonly when?: Condition; readonly change: Change }
  | { readonly put: Item; readonly when?: Condition }
  | { readonly check: ItemKey; readonly when: Condition }
  | { readonly remove: ItemKey; readonly when?: Condition }

export interface Range {
  /** Name of an index; absent for the table itself. */
  readonly index?: string
  readonly keys: Condition
  readonly descending?: boolean
  readonly pageSize?: number
  readonly filter?: Condition
}

export type Updated =
  | { readonly done: true; readonly item: Item }
  /** `item`: the item for which the condition failed; undefined if there was none. */
  | { readonly done: false; readonly item: Item | undefined }

/**
 * Access to the one table. Reads of the table are strongly consistent, except `readHeaderEventually` and
 * `readManyEventually`. If the store is busy or does not respond, every request is retried with identical bytes. If the
 * retries fail too, the request rejects with `storage_failed`.
 */
export interface Table {
  read(key: ItemKey): Promise<Item | undefined>
  /** Returns an item by an eventually consistent read, which costs half. The item may be outdated. */
  readHeaderEventually(key: ItemKey): Promise<Item | undefined>
  readManyEventually(keys: readonly ItemKey[]): Promise<(Item | undefined)[]>
  /** Returns the items in the order of the keys. */
  readMany(keys: readonly ItemKey[]): Promise<(Item | undefined)[]>
  query(range: Range): AsyncGenerator<Item>
  /** Writes all actions or none. Returns undefined on success; otherwise the refusal of each action, by index. */
  write(actions: readonly Action[]): Promise<Refusal | undefined>
  update(key: ItemKey, when: Condition, change: Change): Promise<Updated>
}

export interface TableDependencies {
  readonly client: DynamoDBClient
  readonly tableName: string
  readonly clock: Clock
}

const BATCH = 100

/** Creates the access to the table. */
export function createTable({ client, tableName, clock }: TableDependencies): Table {
  const retry = createRetry(clock)
  const access = { client, tableName, retry }
  return {
    read: async (key) => (await readMany(access, [key]))[0],
    readHeaderEventually: async (key) => (await readMany(access, [key], 'eventual'))[0],
    readManyEventually: (keys) => readMany(access, keys, 'eventual'),
    readMany: (keys) => readMany(access, keys),
    query: (range) => query(access, range),
    write: (actions) => {
      const input = {
        TransactItems: actions.map((action) => renderAction(tableName, action)),
        ClientRequestToken: crypto.randomUUID(),
      }
      return retry('write', () =>
        unlessRefused(
          async () => void (await client.send(new TransactWriteItemsCommand(input))),
          (refusal) => refusal,
        ),
      )
    },
    update: (key, when, change) => {
      const input = { ...renderUpdate(tableName, key, when, change), ReturnValues: 'ALL_NEW' } as const
      return retry('update', () =>
        unlessRefused<Updated>(
          async () => ({ done: true, item: (await client.send(new UpdateItemCommand(input))).Attributes ?? {} }),
          (refusal) => ({ done: false, item: refusal[0]?.item }),
        ),
      )
    },
  }
}

interface Access {
  readonly client: DynamoDBClient
  readonly tableName: string
  readonly retry: Retry
}

async function unlessRefused<Result>(
  work: () => Promise<Result>,
  otherwise: (refusal: Refusal) => Result,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return otherwise(refusal)
  }
}

async function readMany(
  access: Access,
  keys: readonly ItemKey[],
  how: 'read' | 'eventual' = 'read',
): Promise<(Item | undefined)[]> {
  const found = new Map<string, Item>()
  const distinct = [...new Map(keys.map((key) => [`${key.pk} ${key.sk}`, key])).values()]
  for (let at = 0; at < distinct.length; at += BATCH)
    await readBatch(access, distinct.slice(at, at + BATCH), how, found)
  return keys.map(({ pk, sk }) => found.get(`${pk} ${sk}`))
}

/** Reads a batch. The store returns at most 16 MB at once, and lists the keys that it did not read. */
async function readBatch(
  { client, tableName, retry }: Access,
  keys: readonly ItemKey[],
  how: 'read' | 'eventual',
  found: Map<string, Item>,
): Promise<void> {
  let wanted: readonly Item[] = keys.map((key) => toItem({ ...key }))
  while (wanted.length > 0) {
    wanted = await retry('read', async () => {
      const { Responses, UnprocessedKeys } = await client.send(
        new BatchGetItemCommand({
          RequestItems: { [tableName]: { Keys: [...wanted], ConsistentRead: how === 'read' } },
        }),
      )
      for (const item of Responses?.[tableName] ?? []) found.set(idOf(item), item)
      const rest = UnprocessedKeys?.[tableName]?.Keys ?? []
      if (rest.length === wanted.length) throw new Error('the store read none of the items')
      return rest
    })
  }
}

async function* query({ client, tableName, retry }: Access, range: Range): AsyncGenerator<Item> {
  const input = renderQuery(tableName, range)
  let start: Item | undefined
  do {
    const page = await retry('query', () =>
      client.send(new QueryCommand({ ...input, ...definedFields({ ExclusiveStartKey: start }) })),
    )
    yield* page.Items ?? []
    start = page.LastEvaluatedKey
  } while (start !== undefined)
}

const idOf = (item: Item): string => `${requiredText(item, 'pk')} ${requiredText(item, 'sk')}`

function renderQuery(TableName: string, range: Range): QueryCommandInput {
  const scope = createScope()
  const KeyConditionExpression = range.keys(scope)
  const filter = range.filter === undefined ? {} : { FilterExpression: range.filter(scope) }
  return {
    TableName,
    KeyConditionExpression,
    ...filter,
    ...scope.collected(),
    ...(range.index === undefined ? { ConsistentRead: true } : { IndexName: range.index }),
    ...definedFields({ Limit: range.pageSize }),
    ScanIndexForward: range.descending !== true,
  }
}

function renderUpdate(TableName: string, key: ItemKey, when: Condition | undefined, change: Change) {
  const scope = createScope()
  return {
    TableName,
    Key: { ...toItem({ ...key }) },
    UpdateExpression: renderChange(change, scope),
    ...(when === undefined ? {} : { ConditionExpression: when(scope) }),
    ...scope.collected(),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const
}

function renderAction(TableName: string, action: Action): TransactWriteItem {
  if ('update' in action) return { Update: renderUpdate(TableName, action.update, action.when, action.change) }
  if ('put' in action) {
    const guard = action.when === undefined ? {} : renderGuard(action.when)
    return { Put: { TableName, Item: { ...action.put }, ...guard } }
  }
  if ('check' in action)
    return { ConditionCheck: { TableName, Key: { ...toItem({ ...action.check }) }, ...renderGuard(action.when) } }
  const guard = action.when === undefined ? {} : renderGuard(action.when)
  return { Delete: { TableName, Key: { ...toItem({ ...action.remove }) }, ...guard } }
}

function renderGuard(when: Condition) {
  const scope = createScope()
  const ConditionExpression = when(scope)
  return { ConditionExpression, ...scope.collected(), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
}
