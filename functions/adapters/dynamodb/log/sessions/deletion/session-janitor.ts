import { fairShares } from '../../../../../domain/fair-shares.ts'
import type { SessionKey } from '../../../../../domain/session.ts'
import type { DueSession, SessionJanitor } from '../../../../../ports/session-janitor.ts'
import { numberAt, type Item } from '../../../attributes.ts'
import { absent, all, any, below, is, present } from '../../../expressions.ts'
import { canExpire } from './expiry.ts'
import { isLive, live, notCancelled } from '../header-item.ts'
import { DUE_INDEX, headerKey, sessionOf, shardsOf } from '../../../keys.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../session-rows.ts'

/**
 * Maximum number of pages that are read from each shard to find expired sessions. Many expired sessions may have work,
 * and cannot be deleted now.
 */
const EXPIRED_PAGES = 10

/** Creates the reader of due and expired sessions on DynamoDB. */
export function createDynamoSessionJanitor(dependencies: DynamoDependencies): SessionJanitor {
  const rows = createSessionRows(dependencies)
  return {
    // Loaded on demand: only sweepers call it, and only for some days after an update.
    adopt: async (limit) => (await import('../adoption/old-sessions.ts')).adoptOldSessions(dependencies, limit),
    due: async (now, limit) =>
      fairShares((await inShards('due', (shard) => oldest(rows, shard, now, limit))).flat(), limit),
    postpone: (seen, until) => postpone(rows, seen, until),
    clearDue: (key) => clearDue(rows, key),
    expired: async (now, limit) => {
      const found = await inShards('expiry', (shard) => oldestExpired(rows, shard, now, limit))
      return fairShares(found.flat(), limit).map(({ key }) => key)
    },
  }
}

const inShards = <Found>(kind: 'due' | 'expiry', read: (shard: string) => Promise<Found>): Promise<Found[]> =>
  Promise.all(shardsOf(kind).map(read))

/**
 * Yields the due sessions of a shard, oldest first. The index may be outdated, so callers check the table before they
 * act.
 */
async function* dueOf(
  { table }: SessionRows,
  shard: string,
  now: number,
  pageSize: number,
): AsyncGenerator<DueSession> {
  const keys = all(is('due_shard', shard), below('due', now + 1))
  for await (const item of table.query({ index: DUE_INDEX, keys, pageSize: Math.min(pageSize, 1000) }))
    yield { key: sessionOf(item), due: numberAt(item, 'due') ?? 0 }
}

async function oldest(rows: SessionRows, shard: string, now: number, limit: number): Promise<DueSession[]> {
  const found: DueSession[] = []
  for await (const session of dueOf(rows, shard, now, limit)) {
    found.push(session)
    if (found.length >= limit) break
  }
  return found
}

/**
 * Returns the oldest expired sessions that are live and have no work. Sessions with work are skipped, so that they do
 * not hide later ones.
 */
async function oldestExpired(rows: SessionRows, shard: string, now: number, limit: number): Promise<DueSession[]> {
  const found: DueSession[] = []
  let page: DueSession[] = []
  let pages = 0
  const keepExpired = async (): Promise<void> => {
    const headers = await rows.table.readMany(page.map(({ key }) => headerKey(key)))
    found.push(...page.filter((_, place) => isIdle(headers[place])))
    page = []
    pages++
  }
  for await (const session of dueOf(rows, shard, now, limit)) {
    page.push(session)
    if (page.length >= limit) await keepExpired()
    if (found.length >= limit || pages >= EXPIRED_PAGES) return found.slice(0, limit)
  }
  if (page.length > 0) await keepExpired()
  return found.slice(0, limit)
}

const isIdle = (header: Item | undefined): boolean =>
  isLive(header) && numberAt(header, 'due') === undefined && canExpire(header)

async function postpone({ table }: SessionRows, { key, due }: DueSession, until: number): Promise<boolean> {
  return (await table.update(headerKey(key), all(present('pk'), is('due', due)), { set: { due: until } })).done
}

async function clearDue({ table }: SessionRows, key: SessionKey): Promise<boolean> {
  const idle = all(absent('active_run'), is('queued', 0))
  const blocked = all(is('paused', true), (scope) => `NOT (${is('waiting', 0)(scope)})`, notCancelled)
  const when = all(live, absent('lease_owner'), any(idle, blocked))
  return (await table.update(headerKey(key), when, { remove: ['due'] })).done
}
