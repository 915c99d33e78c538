import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { AttributeValue, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { TABLE } from '../../functions/adapters/dynamodb/create-table.ts'

type Item = Record<string, AttributeValue>

/** One request to the table. */
export interface MeteredRequest {
  readonly name: string
  /** Milliseconds since the creation of the meter. */
  readonly begun: number
  ended: number
  /**
   * Bytes of the bodies, sent and received. Headers and signatures do not count, because they are about equal for all
   * requests.
   */
  up: number
  down: number
  /** On-demand units of the table and its indexes. */
  writeUnits: number
  readUnits: number
}

/**
 * For each sparse index: the attributes that the index contains in addition to the table's keys. The first two are the
 * index's key. The index contains only items that have both of these.
 */
const INDEXES = TABLE.GlobalSecondaryIndexes.map(({ KeySchema, Projection }) => [
  ...KeySchema.map(({ AttributeName }) => AttributeName),
  ...('NonKeyAttributes' in Projection ? Projection.NonKeyAttributes : []),
])
const KEYS = ['pk', 'sk']

/**
 * Creates a client that measures what DynamoDB bills. Engines report too few units for transactions, so write units are
 * computed from the items.
 *
 * Each item costs units per KB of its larger size, before or after the write. In a transaction, it costs twice as much.
 * Each index entry that is put, removed or changed costs units too: once, or twice if its key changes. Reads are
 * counted as the engine reports them.
 */
export function createDynamoMeter(endpoint: string) {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'localsecret' }
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 })
  const aside = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials })
  const requests: MeteredRequest[] = []
  const inFlight = new Map<object, MeteredRequest>()
  const known = new Map<string, Item>()
  const started = performance.now()
  const now = (): number => performance.now() - started

  client.middlewareStack.add(
    (next, context) => async (args) => {
      const name = String(context['commandName']).replace(/Command$/, '')
      const request = { name, begun: now(), ended: 0, up: 0, down: 0, writeUnits: 0, readUnits: 0 }
      requests.push(request)
      inFlight.set(context, request)
      const input = args.input as Input
      const result = await next({ ...args, input: { ...input, ReturnConsumedCapacity: 'TOTAL' } }).finally(() => {
        request.ended = now()
        inFlight.delete(context)
      })
      const written = keysWritten(input)
      for (const { table, key } of written)
        request.writeUnits += await unitsWritten(table, key, input.TransactItems === undefined ? 1 : 2)
      const { ConsumedCapacity: consumed = [] } = result.output as { ConsumedCapacity?: Consumed | Consumed[] }
      if (written.length === 0)
        request.readUnits = [consumed].flat().reduce((sum, { CapacityUnits: units = 0 }) => sum + units, 0)
      return result
    },
    { step: 'initialize', name: 'meter' },
  )
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next(args)
      const request = inFlight.get(context)
      if (request === undefined) return result
      request.up += Buffer.byteLength((args.request as { body?: string }).body ?? '')
      const { headers } = result.response as { headers: Readonly<Record<string, string>> }
      request.down += Number(headers['content-length'] ?? 0)
      return result
    },
    { step: 'finalizeRequest', priority: 'low', name: 'meterBytes' },
  )

  async function unitsWritten(table: string, key: Item, times: number): Promise<number> {
    const place = JSON.stringify(key)
    const before = known.get(place)
    const { Item: after } = await aside.send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }))
    if (after === undefined) known.delete(place)
    else known.set(place, after)
    const ofIndexes = INDEXES.reduce((sum, fields) => sum + indexUnits(fields, before, after), 0)
    return times * kilobytes(Math.max(sizeOf(before), sizeOf(after))) + ofIndexes
  }

  return {
    client,
    requests,
    now,
    /**
     * Returns the stored bytes of all items and of their index entries. DynamoDB adds 100 bytes for each item and
     * entry.
     */
    storedBytes(): number {
      const entries = [...known.values()].flatMap((item) => [item, ...INDEXES.map((fields) => entryOf(fields, item))])
      return entries.reduce((sum, item) => (item === undefined ? sum : sum + sizeOf(item) + 100), 0)
    },
    close() {
      client.destroy()
      aside.destroy()
    },
  }
}

interface Consumed {
  readonly CapacityUnits?: number
}

interface Input {
  readonly TableName?: string
  readonly Key?: Item
  readonly TransactItems?: readonly TransactWriteItem[]
}

function keysWritten({ TableName: table = '', Key: key, TransactItems: items }: Input): { table: string; key: Item }[] {
  if (items === undefined) return key === undefined ? [] : [{ table, key }]
  return items.flatMap(({ Put, Update, Delete, ConditionCheck }) => {
    const part = Put ?? Update ?? Delete ?? ConditionCheck
    const item = Put?.Item ?? Update?.Key ?? Delete?.Key ?? ConditionCheck?.Key
    return item === undefined ? [] : [{ table: part?.TableName ?? '', key: pick(item, KEYS) }]
  })
}

function indexUnits(fields: readonly string[], before: Item | undefined, after: Item | undefined): number {
  const [was, is] = [entryOf(fields, before), entryOf(fields, after)]
  const [old, fresh] = [kilobytes(sizeOf(was)), kilobytes(sizeOf(is))]
  if (was === undefined || is === undefined) return old + fresh
  const moved = JSON.stringify(pick(was, fields.slice(0, 2))) !== JSON.stringify(pick(is, fields.slice(0, 2)))
  if (moved) return old + fresh
  return JSON.stringify(was) === JSON.stringify(is) ? 0 : Math.max(old, fresh)
}

function entryOf(fields: readonly string[], item: Item | undefined): Item | undefined {
  const indexed = item !== undefined && fields.slice(0, 2).every((field) => item[field] !== undefined)
  return indexed ? pick(item, [...KEYS, ...fields]) : undefined
}

const pick = (item: Item, names: readonly string[]): Item =>
  Object.fromEntries(names.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])))

/** Returns the write units of `bytes`. Returns 0 if there is no item. */
const kilobytes = (bytes: number): number => Math.ceil(bytes / 1024)

/**
 * Computes an item's size by DynamoDB's rule. Names and texts count as UTF-8, and a number by its digits. A list or map
 * has 3 additional bytes, plus 1 for each element.
 */
function sizeOf(item: Item | undefined): number {
  if (item === undefined) return 0
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0)
}

function valueSize({ S, N, B, L, M }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S)
  if (N !== undefined) return Math.ceil(N.replace(/[-.]/g, '').length / 2) + 1
  if (B !== undefined) return B.length
  if (L !== undefined) return 3 + L.reduce((sum, value) => sum + 1 + valueSize(value), 0)
  if (M !== undefined) return 3 + Object.values(M).length + sizeOf(M)
  // The value is a boolean or null.
  return 1
}
