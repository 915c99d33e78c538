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
  /** Stores texts that are too large for a row. */
  readonly outputs: OutputStore
  readonly clock: Clock
}

/** The objects that every adapter of the table uses. */
export interface SessionRows {
  readonly table: Table
  readonly bodies: Bodies
  readonly clock: Clock
}

/** Creates the table access and the store of its texts. */
export function createSessionRows({ client, tableName, outputs, clock }: DynamoDependencies): SessionRows {
  return { table: createTable({ client, tableName, clock }), bodies: createBodies({ outputs }), clock }
}

/** Runs per read. In nearly all cases, the caller needs only the first queued run. */
const FEW = 8

/**
 * Yields queued runs of the header's session, lowest id first. The caller stops when it has enough, because a queue may
 * be long and contains whole inputs.
 */
export async function* queuedRuns(
  { table }: SessionRows,
  key: SessionKey,
  header: Item,
): AsyncGenerator<Item, undefined> {
  if ((numberAt(header, 'queued') ?? 0) === 0) return
  const started = textAt(header, 'started') ?? ''
  // In sort order, `#RUN#…` comes before `#SESSION`.
  const keys = all(is('pk', partitionOf(key)), between('sk', RUN_PREFIX + started, HEADER))
  for await (const item of table.query({ keys, pageSize: FEW }))
    if (textAt(item, 'sk') !== HEADER && runStatusOf(item) === 'queued') yield item
}

/** Returns all messages of a run, in order. */
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

/**
 * Returns the open calls of the active run, in order. All these calls follow the latest completion of the run's leader.
 */
export async function openCalls({ table, bodies }: SessionRows, key: SessionKey, header: Item): Promise<ToolMessage[]> {
  const floor = textAt(header, 'floor')
  if (floor === undefined) return []
  const open: Item[] = []
  const keys = all(is('pk', partitionOf(key)), above('sk', floor))
  const filter = any(...OPEN_STATUSES.map((status) => is('status', status)))
  for await (const item of table.query({ keys, filter })) open.push(item)
  return Promise.all(open.map((item) => toolMessageOf(bodies, key, item)))
}

/** Reads the run with this id, or the run that it was merged into. */
export async function readResolvedRun({ table }: SessionRows, key: SessionKey, id: string): Promise<Item | undefined> {
  const run = await table.read(runKey(key, id))
  const target = run && textAt(run, 'merged_into')
  return target === undefined ? run : table.read(runKey(key, target))
}
