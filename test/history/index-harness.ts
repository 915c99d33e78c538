import { DeleteItemCommand, PutItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Client } from '@opensearch-project/opensearch'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDiskOutputStore } from '../../functions/adapters/disk/output-store.ts'
import { createTableIfAbsent } from '../../functions/adapters/dynamodb/create-table.ts'
import { createDynamoMessageRows } from '../../functions/adapters/dynamodb/stream/message-rows.ts'
import { createDynamoRowRecords, type StreamRecord } from '../../functions/adapters/dynamodb/stream/row-records.ts'
import { createDynamoLogReader } from '../../functions/adapters/dynamodb/log/messages/log-reader.ts'
import { createDynamoSessionStore } from '../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { startStreamPoller } from '../../functions/adapters/dynamodb/stream/poller.ts'
import type { ShardDependencies } from '../../functions/adapters/dynamodb/stream/shard.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { createHistoryAliases } from '../../functions/adapters/opensearch/history-aliases.ts'
import { createOpenSearchHistoryBuilder } from '../../functions/adapters/opensearch/history-builder.ts'
import { createOpenSearchHistoryIndex } from '../../functions/adapters/opensearch/history-index.ts'
import { createOpenSearchHistoryWriter } from '../../functions/adapters/opensearch/history-writer.ts'
import { createSend } from '../../functions/adapters/opensearch/requests.ts'
import { createIndexer } from '../../functions/history/indexer.ts'
import { rebuildIndex } from '../../functions/history/rebuild.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { DeadLetter } from '../../functions/ports/history-writer.ts'
import { startProxy } from '../adapters/opensearch/proxy.ts'
import { dynamodbClient, streamsClient } from '../engines/clients.ts'
import { until } from '../eventually.ts'
import { indexContents } from './index-contents.ts'

/** Factor by which the indexes' clock is faster than real time, so that the tests do not wait for seconds. */
const SPEED = 20
const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** Opens a table with its stream, an index, and the parts that keep the index up to date with the table. */
export async function openIndexHarness(endpoints: { readonly dynamodb: string; readonly opensearch: string }) {
  const client = dynamodbClient(endpoints.dynamodb)
  const streams = streamsClient(endpoints.dynamodb)
  const tableName = `index-${crypto.randomUUID()}`
  await createTableIfAbsent(client, tableName)
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-index-'))
  const outputs = createDiskOutputStore({ folder })
  const table = { client, tableName, outputs, clock: createSystemClock() }

  const proxy = await startProxy(endpoints.opensearch)
  const searchClient = new Client({ node: proxy.endpoint, maxRetries: 0 })
  const direct = new Client({ node: endpoints.opensearch })
  const deadLettered: DeadLetter[] = []
  const alias = `test-${crypto.randomUUID().slice(0, 8)}`
  const search = {
    client: searchClient,
    alias,
    clock: fastClock(),
    indexDeadLetters: { send: async (message: DeadLetter) => void deadLettered.push(message) },
  }
  const writer = createOpenSearchHistoryWriter(search)
  const index = createOpenSearchHistoryIndex(search)
  await createHistoryAliases({ send: createSend(searchClient), alias, clock: search.clock }).ensure()
  const rows = createDynamoMessageRows(table)
  const dependencies = {
    sessions: createDynamoSessionStore(table),
    reader: createDynamoLogReader(table),
    outputs,
    writer,
    rows,
    indexDeadLetters: search.indexDeadLetters,
    records: createDynamoRowRecords({ outputs }),
    clock: table.clock,
    logger: quiet,
  }
  return {
    table,
    alias,
    proxy,
    direct,
    deadLettered,
    writer,
    dependencies,
    index,
    indexer: createIndexer(dependencies),
    rebuild: () =>
      rebuildIndex({ ...dependencies, builder: createOpenSearchHistoryBuilder(search), clock: search.clock }),
    poll: (handle: Handle) =>
      pollMarked({ client: streams, tableName, clock: table.clock, logger: quiet }, client, handle),
    /** All documents of the index by id: version and content. */
    contents: (): Promise<Map<string, unknown>> => indexContents(endpoints.opensearch, alias),
    async stop() {
      await direct.indices.delete({ index: `${alias}*`, expand_wildcards: 'all' })
      await Promise.all([searchClient.close(), direct.close(), proxy.close()])
      client.destroy()
      streams.destroy()
      await rm(folder, { recursive: true })
    },
  }
}
export type IndexHarness = Awaited<ReturnType<typeof openIndexHarness>>

function fastClock(): Clock {
  const start = Date.now()
  return {
    now: () => start + (Date.now() - start) * SPEED,
    sleep: async (milliseconds, signal) => {
      await sleep(milliseconds / SPEED, undefined, signal === undefined ? {} : { signal })
    },
  }
}

type Handle = (records: readonly StreamRecord[]) => Promise<{ readonly failed: readonly string[] }>

/** Partition of marker rows. They are written only to appear in the stream. */
const MARKS = 'marks of a test'

/** Starts a poller with `caughtUp`, which resolves when all earlier writes have been passed to `handle`. */
function pollMarked(dependencies: Omit<ShardDependencies, 'handle'>, client: DynamoDBClient, handle: Handle) {
  const { tableName: TableName } = dependencies
  const seen = new Set<string | undefined>()
  const isMark = ({ dynamodb }: StreamRecord): boolean => dynamodb?.Keys?.['pk']?.S === MARKS
  const poller = startStreamPoller({
    ...dependencies,
    async handle(records) {
      const handled = await handle(records.filter((record) => !isMark(record)))
      if (handled.failed.length === 0)
        for (const record of records.filter(isMark)) seen.add(record.dynamodb?.Keys?.['sk']?.S)
      return handled
    },
  })
  return {
    ...poller,
    async caughtUp(): Promise<void> {
      const sk = crypto.randomUUID()
      const Key = { pk: { S: MARKS }, sk: { S: sk } }
      await client.send(new PutItemCommand({ TableName, Item: Key }))
      await until(() => seen.has(sk))
      await client.send(new DeleteItemCommand({ TableName, Key }))
    },
  }
}
