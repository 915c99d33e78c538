import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { OPEN_STATUSES, type ToolMessage } from '../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { OutputStore } from '../../../../ports/output-store.ts'
import { numberAt, textAt, type Item } from '../../attributes.ts'
import { createBodies, type Bodies } from '../messages/bodies.ts'
import { above, all, any, between, is } from '../../expressions.ts'
import { HEADER, partitionOf, RUN_PREFIX, runKey } from '../../keys.ts'
import { toolMessageOf } from '../messages/message-item.ts'
import { runIdOf, runStatusOf } from '../runs/run-item.ts'
import { createTable, type Table } from '../../table.ts'

export interface DynamoDependencies {
  readonly client: DynamoDBClient
  readonly tableName: string
  /** Takes what is too large for a row. */
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** What every adapter of the table works with. */
export interface SessionRows {
  readonly table: Table
  readonly bodies: Bodies
  readonly clock: Clock
}

/** The table and the texts that it spills. */
export function createSessionRows({ client, tableName, outputs, clock }: DynamoDependencies): SessionRows {
  return { table: createTable({ client, tableName, clock }), bodies: createBodies({ outputs }), clock }
}

/** Runs read at a time: nearly always the first is the one. */
const FEW = 8

/**
 * Queued runs of the session of this header, lowest first. The reader stops when it has enough: a queue may be long, and it
 * holds its inputs whole.
 */
export async function* queuedRuns(
  { table }: SessionRows,
  key: SessionKey,
  header: Item,
): AsyncGenerator<Item, undefined> {
  if ((numberAt(header, 'queued') ?? 0) === 0) return
  const started = textAt(header, 'started') ?? ''
  // `#RUN#…` sorts before `#SESSION`.
  const keys = all(is('pk', partitionOf(key)), between('sk', RUN_PREFIX + started, HEADER))
  for await (const item of table.query({ keys, pageSize: FEW }))
    if (textAt(item, 'sk') !== HEADER && runStatusOf(item) === 'queued') yield item
}

/** All messages of a run, in order. */
export async function rowsOfRun({ table }: SessionRows, key: SessionKey, run: Item): Promise<Item[]> {
  const rows: Item[] = []
  const id = runIdOf(run)
  const keys = all(is('pk', partitionOf(key)), above('sk', textAt(run, 'since') ?? '0'))
  for await (const item of table.query({ keys })) {
    if (textAt(item, 'run') !== id) break
    rows.push(item)
  }
  return rows
}

/** The active run's calls that have not ended, in order: all of them come after its leader's latest completion. */
export async function openCalls({ table, bodies }: SessionRows, key: SessionKey, header: Item): Promise<ToolMessage[]> {
  const floor = textAt(header, 'floor')
  if (floor === undefined) return []
  const open: Item[] = []
  const keys = all(is('pk', partitionOf(key)), above('sk', floor))
  const filter = any(...OPEN_STATUSES.map((status) => is('status', status)))
  for await (const item of table.query({ keys, filter })) open.push(item)
  return Promise.all(open.map((item) => toolMessageOf(bodies, key, item)))
}

/** The run of this id, or the one that it was merged into. */
export async function readResolvedRun({ table }: SessionRows, key: SessionKey, id: string): Promise<Item | undefined> {
  const run = await table.read(runKey(key, id))
  const target = run && textAt(run, 'merged_into')
  return target === undefined ? run : table.read(runKey(key, target))
}
