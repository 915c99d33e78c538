import { ScanCommand, type AttributeValue } from '@aws-sdk/client-dynamodb'
import { flagAt, numberAt, textAt, type Item } from '../../../attributes.ts'
import { absent, any, createScope, is, startsWith } from '../../../expressions.ts'
import { adoptionKey, GROUP_INDEX, headerKey, OLD_GROUP_PREFIX, sessionOf } from '../../../keys.ts'
import { listedHeader } from './adoption.ts'
import { isLive } from '../header-item.ts'
import { isListed } from '../lists/list-entries.ts'
import { createRetry } from '../../../retry.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../session-rows.ts'

/**
 * Time between two passes. Passes are repeated, because processes of the earlier version may run in parallel for a
 * while.
 */
const DAY_MS = 86_400_000
/**
 * Maximum number of passes. A session that cannot be read is found in every pass, so without this limit, passes would
 * never end.
 */
const MAX_PASSES = 7

/**
 * Adopts sessions of earlier versions among the next `limit` entries of the index by tenant. A pass reads the whole index, and
 * an item stores its progress. Passes are repeated until one finds no such session. Returns whether the pass has more entries.
 * Rejects if a session could not be adopted; the next call then begins after these entries.
 */
export async function adoptOldSessions(dependencies: DynamoDependencies, limit: number): Promise<boolean> {
  const rows = createSessionRows(dependencies)
  const { table, clock } = rows
  const state = (await table.read(adoptionKey)) ?? {}
  const now = clock.now()
  if (flagAt(state, 'done') || (numberAt(state, 'next_pass') ?? 0) > now) return false
  const start = textAt(state, 'start')
  const page = await scan(dependencies, limit, start)
  const found = (numberAt(state, 'found') ?? 0) + page.items.length
  await keepState(rows, state, found, page.next)
  const adopted = await Promise.allSettled(page.items.map((item) => adoptOne(rows, item)))
  for (const one of adopted) if (one.status === 'rejected') throw one.reason
  return page.next !== undefined
}

/** Reads a page of `limit` entries of the index by tenant. */
async function scan(
  { client, tableName, clock }: DynamoDependencies,
  limit: number,
  start: string | undefined,
): Promise<{ readonly items: readonly Item[]; readonly next: Item | undefined }> {
  const scope = createScope()
  const FilterExpression = startsWith('group', OLD_GROUP_PREFIX)(scope)
  const input = { TableName: tableName, IndexName: GROUP_INDEX, Limit: limit, FilterExpression, ...scope.collected() }
  const from = start === undefined ? {} : { ExclusiveStartKey: JSON.parse(start) as Record<string, AttributeValue> }
  const { Items: items = [], LastEvaluatedKey: next } = await createRetry(clock)('scan', () =>
    client.send(new ScanCommand({ ...input, ...from })),
  )
  return { items, next }
}

async function adoptOne(rows: SessionRows, item: Item): Promise<void> {
  const key = sessionOf(item)
  const header = await rows.table.read(headerKey(key))
  if (isLive(header) && !isListed(header)) await listedHeader(rows, key, header)
}

/** Stores the progress, unless another process has changed the stored progress since it was read. */
async function keepState(
  { table, clock }: SessionRows,
  state: Item,
  found: number,
  next: Item | undefined,
): Promise<void> {
  const revision = numberAt(state, 'rev') ?? 0
  const passes = (numberAt(state, 'passes') ?? 0) + 1
  const isDone = (found === 0 && passes > 1) || passes >= MAX_PASSES
  const change =
    next === undefined
      ? {
          set: { passes, found: 0, ...(isDone ? { done: true } : { next_pass: clock.now() + DAY_MS }) },
          remove: ['start'],
        }
      : { set: { start: JSON.stringify(next), found } }
  const set = { ...change.set, rev: revision + 1 }
  await table.update(adoptionKey, any(absent('rev'), is('rev', revision)), { ...change, set })
}
