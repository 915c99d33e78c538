import { isUlid } from '../../../../domain/ids.ts'
import type { Replacement } from '../../../../domain/runs/replacement.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { createPage, messageLength, runLength } from '../../../../log/message-length.ts'
import type { LogReader, MessageQuery } from '../../../../ports/log-reader.ts'
import { requiredText, textAt, type Item } from '../../attributes.ts'
import { all, between, is, startsWith, type Condition } from '../../expressions.ts'
import { contextOf } from '../sessions/context-item.ts'
import { isLive } from '../sessions/header-item.ts'
import { contextKey, headerKey, messageKey, partitionOf, RUN_PREFIX, runKey, STEERING_PREFIX } from '../../keys.ts'
import { messageOf } from './message-item.ts'
import { findReplacements } from '../runs/replacement-items.ts'
import { runOf, runStatusOf } from '../runs/run-item.ts'
import { readNumbers } from './source-items.ts'
import { createSessionRows, queuedRuns, type DynamoDependencies, type SessionRows } from '../sessions/session-rows.ts'

/** Every id sorts between these bounds. */
const LOWEST = '0'
const HIGHEST = 'Z'.repeat(27)
/** Sorts after every possible continuation of a key. */
const LAST = '\u{10ffff}'

/** Creates the reader of sessions' logs on DynamoDB. A deleted session reads like one that never existed. */
export function createDynamoLogReader(dependencies: DynamoDependencies): LogReader {
  const rows = createSessionRows(dependencies)
  const { table, bodies } = rows
  return {
    messages: (key, query) => readMessages(rows, key, query),
    message: async (key, id) => {
      if (!isUlid(id)) return undefined
      const [header, item] = await table.readMany([headerKey(key), messageKey(key, id)])
      return isLive(header) && item !== undefined ? messageOf(bodies, key, item) : undefined
    },
    context: async (key) => {
      const [header, item] = await table.readMany([headerKey(key), contextKey(key)])
      return isLive(header) ? contextOf(rows, key, item) : {}
    },
    replacements: (key) => readReplacements(rows, key),
    sources: (key, query) => readNumbers(rows, key, query),
    run: async (key, id) => {
      if (!isUlid(id)) return undefined
      const [header, item] = await table.readMany([headerKey(key), runKey(key, id)])
      return isLive(header) && item !== undefined ? runOf(bodies, key, item, header) : undefined
    },
    runs: (key, query) => readRuns(rows, key, query),
    queued: async (key, limit = Infinity) => {
      const header = await table.read(headerKey(key))
      const runs: Run[] = []
      if (isLive(header))
        for await (const item of queuedRuns(rows, key, header)) {
          runs.push(await runOf(bodies, key, item, header))
          if (runs.length >= limit) break
        }
      return runs
    },
    steering: (key, limit) => readSteering(rows, key, limit),
  }
}

async function readMessages(
  rows: SessionRows,
  key: SessionKey,
  query: MessageQuery,
): ReturnType<LogReader['messages']> {
  const { table, bodies } = rows
  const { run, limit } = query
  const [header, runItem] = await table.readMany([
    headerKey(key),
    ...(run === undefined || !isUlid(run) ? [] : [runKey(key, run)]),
  ])
  if (!isLive(header) || (run !== undefined && runItem === undefined)) return { messages: [], more: false }
  const page = createPage(messageLength, limit, query.mostCharacters)
  const filtered = [query.roles, query.agent, query.parentToolCallId].some((filter) => filter !== undefined)
  // A run's messages follow those that were in the log when the run started.
  const after = later(query.after, runItem && textAt(runItem, 'since'))
  const range = {
    keys: all(is('pk', partitionOf(key)), idsBetween(after, query.before, runItem)),
    descending: query.order === 'descending',
    // Reads one more than requested, to find out whether more follow.
    ...(filtered ? {} : { pageSize: limit + 1 }),
  }
  for await (const item of table.query(range)) {
    if (!isIn(after, query.before, textAt(item, 'sk') ?? '')) continue
    if (run !== undefined && textAt(item, 'run') !== run) {
      // The run's messages are contiguous, so messages of other runs follow only after the last one.
      if (query.order === 'ascending') break
      continue
    }
    if (query.roles !== undefined && !query.roles.some((role) => role === textAt(item, 'role'))) continue
    const message = await messageOf(bodies, key, item)
    if (query.agent !== undefined && message.agent !== query.agent) continue
    if (query.parentToolCallId !== undefined && message.parentToolCallId !== query.parentToolCallId) continue
    if (!page.take(message)) return { messages: page.entries, more: true }
  }
  return { messages: page.entries, more: false }
}

const isIn = (after: string | undefined, before: string | undefined, id: string): boolean =>
  (after === undefined || id > after) && (before === undefined || id < before)

const later = (left: string | undefined, right: string | undefined): string | undefined =>
  left === undefined || (right !== undefined && right > left) ? right : left

/**
 * Returns the condition on the ids between `after` and `before`. For a run, the range ends at the run's last message.
 */
function idsBetween(after: string | undefined, before: string | undefined, run: Item | undefined): Condition {
  const last = (run && textAt(run, 'last')) ?? HIGHEST
  const from = after !== undefined && after > LOWEST ? after : LOWEST
  const to = before !== undefined && before < last ? before : last
  return between('sk', from, to < from ? from : to)
}

async function readReplacements(rows: SessionRows, key: SessionKey): Promise<readonly Replacement[]> {
  const [header, found] = await Promise.all([rows.table.read(headerKey(key)), findReplacements(rows, key)])
  return isLive(header) ? found : []
}

async function readSteering({ table }: SessionRows, key: SessionKey, limit: number): Promise<string[]> {
  if (!isLive(await table.read(headerKey(key)))) return []
  const ids: string[] = []
  const keys = all(is('pk', partitionOf(key)), startsWith('sk', STEERING_PREFIX))
  for await (const item of table.query({ keys, pageSize: limit })) {
    ids.push(requiredText(item, 'sk').slice(STEERING_PREFIX.length))
    if (ids.length >= limit) break
  }
  return ids
}

async function readRuns(
  { table, bodies }: SessionRows,
  key: SessionKey,
  { before, limit, status, mostCharacters }: Parameters<LogReader['runs']>[1],
): ReturnType<LogReader['runs']> {
  const header = await table.read(headerKey(key))
  if (!isLive(header)) return { runs: [], more: false }
  const keys = all(is('pk', partitionOf(key)), between('sk', RUN_PREFIX, RUN_PREFIX + (before ?? LAST)))
  const page = createPage(runLength, limit, mostCharacters)
  const filtered = status === undefined ? { pageSize: limit + 2 } : {}
  for await (const item of table.query({ keys, descending: true, ...filtered })) {
    if (textAt(item, 'sk') === RUN_PREFIX + (before ?? LAST)) continue
    if (status !== undefined && runStatusOf(item) !== status) continue
    if (!page.take(await runOf(bodies, key, item, header))) return { runs: page.entries, more: true }
  }
  return { runs: page.entries, more: false }
}
