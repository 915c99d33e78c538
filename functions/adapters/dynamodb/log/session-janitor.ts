import type { SessionKey } from '../../../domain/session.ts'
import type { SessionJanitor } from '../../../ports/session-janitor.ts'
import { numberAt, type Item } from '../attributes.ts'
import { absent, all, any, below, is } from '../expressions.ts'
import { isLive, live, notCancelled } from './header-item.ts'
import { DUE_INDEX, headerKey, sessionOf, shardsOf } from '../keys.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from './session-rows.ts'

/** What runs by the clock, on DynamoDB. */
export function createDynamoSessionJanitor(dependencies: DynamoDependencies): SessionJanitor {
  const rows = createSessionRows(dependencies)
  return {
    due: async (now, limit) => (await findDue(rows, 'due', now, limit)).slice(0, limit).map(sessionOf),
    clearDue: (key) => clearDue(rows, key),
    expired: (now, limit) => findExpired(rows, now, limit),
  }
}

/** At most `limit` of each shard, oldest first. The index may be behind: whoever acts on it looks at the table. */
async function findDue({ table }: SessionRows, kind: 'due' | 'expiry', now: number, limit: number): Promise<Item[]> {
  const shards = shardsOf(kind).map(async (shard) => {
    const found: Item[] = []
    const keys = all(is('due_shard', shard), below('due', now + 1))
    for await (const item of table.query({ index: DUE_INDEX, keys, pageSize: Math.min(limit, 1000) })) {
      found.push(item)
      if (found.length >= limit) break
    }
    return found
  })
  const found = (await Promise.all(shards)).flat()
  return found.toSorted((left, right) => (numberAt(left, 'due') ?? 0) - (numberAt(right, 'due') ?? 0))
}

/** Those that are live and have no work: the others are not deleted under it. */
async function findExpired(rows: SessionRows, now: number, limit: number): Promise<SessionKey[]> {
  const keys = (await findDue(rows, 'expiry', now, limit)).slice(0, limit).map(sessionOf)
  const headers = await rows.table.readMany(keys.map(headerKey))
  return keys.filter((_, place) => {
    const header = headers[place]
    return isLive(header) && numberAt(header, 'due') === undefined
  })
}

async function clearDue({ table }: SessionRows, key: SessionKey): Promise<boolean> {
  const idle = all(absent('active_run'), is('queued', 0))
  const blocked = all(is('paused', true), (scope) => `NOT (${is('waiting', 0)(scope)})`, notCancelled)
  const when = all(live, absent('lease_owner'), any(idle, blocked))
  return (await table.update(headerKey(key), when, { remove: ['due'] })).done
}
