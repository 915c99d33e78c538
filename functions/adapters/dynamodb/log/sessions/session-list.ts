import type { Session, SessionKey } from '../../../../domain/session.ts'
import type { SessionFilter } from '../../../../domain/session-filter.ts'
import type { SessionStore } from '../../../../ports/session-store.ts'
import { foreignCursor } from '../../../../search/session-cursor.ts'
import { numberAt, requiredText, textAt, type Item } from '../../attributes.ts'
import { all, below, is } from '../../expressions.ts'
import { GROUP_INDEX, OWNER_INDEX, ownerGroup, printOf, sessionOf, sessionsGroups } from '../../keys.ts'
import type { SessionRows } from './session-rows.ts'

/** Sessions read at a time. */
const BATCH = 50
/** At most this many sessions are read for one page, if only they themselves show whether they match. */
const MOST_READ = 500
/** At most this many entries of an index are read for one page: some 100 read units. */
const MOST_LOOKED_AT = 5_000
/** Entries of an index read at a time if many may not match. */
const ENTRIES = 500

/**
 * A page of the sessions that match, newest activity first: of one owner by its own index, of others by the tenant's. The reads
 * for one page are bounded; a page that stops at the bound is short, and the next one goes on behind what was looked at.
 */
export async function listSessions(
  { table }: SessionRows,
  filter: SessionFilter,
  read: (keys: readonly SessionKey[]) => Promise<readonly Session[]>,
): ReturnType<SessionStore['list']> {
  const { tenant, owner, limit } = filter
  const before = filter.after === undefined ? [] : [below('at', placeOf(filter.after))]
  const pageSize = isFiltered(filter) ? ENTRIES : limit + 1
  const entries = newestFirst(
    owner === undefined
      ? sessionsGroups(tenant).map((group) =>
          table.query({ index: GROUP_INDEX, keys: all(is('group', group), ...before), descending: true, pageSize }),
        )
      : [
          table.query({
            index: OWNER_INDEX,
            keys: all(is('owner_group', ownerGroup(tenant, owner)), ...before),
            descending: true,
            pageSize,
          }),
        ],
  )
  const found: { readonly session: Session; readonly place: string }[] = []
  let batch: Item[] = []
  const readBatch = async (): Promise<void> => {
    const sessions = await read(batch.map(sessionOf))
    const places = new Map(batch.map((entry) => [sessionOf(entry).session, requiredText(entry, 'at')]))
    for (const session of sessions)
      if (matches(session, filter)) found.push({ session, place: places.get(session.session) ?? '' })
    batch = []
  }
  let [lookedAt, wanted] = [0, 0]
  let last: string | undefined
  let stopped = false
  for await (const entry of entries) {
    if (mayMatch(entry, filter)) batch.push(entry)
    last = requiredText(entry, 'at')
    lookedAt++
    if (batch.length >= Math.min(limit + 1 - found.length, BATCH)) {
      wanted += batch.length
      await readBatch()
    }
    stopped = lookedAt >= MOST_LOOKED_AT || wanted >= MOST_READ
    if (found.length > limit || stopped) break
  }
  await readBatch()
  const page = found.slice(0, limit)
  const next = found.length > limit ? page.at(-1)?.place : stopped ? last : undefined
  return {
    sessions: page.map(({ session }) => session),
    ...(next === undefined ? {} : { next: Buffer.from(next).toString('base64url') }),
  }
}

const isFiltered = ({ agent, runStatus }: SessionFilter): boolean => agent !== undefined || runStatus !== undefined

/** Several lists, each newest first, as one. */
async function* newestFirst(lists: readonly AsyncGenerator<Item>[]): AsyncGenerator<Item> {
  const heads = await Promise.all(lists.map(async (list) => ({ list, next: await list.next() })))
  for (;;) {
    let newest: (typeof heads)[number] | undefined
    for (const head of heads)
      if (head.next.done !== true && (newest === undefined || isNewer(head.next.value, newest.next.value as Item)))
        newest = head
    if (newest === undefined) return
    yield newest.next.value as Item
    newest.next = await newest.list.next()
  }
}

const isNewer = (left: Item, right: Item): boolean => requiredText(left, 'at') > requiredText(right, 'at')

/** What an index entry shows of a session. Only the session itself shows how its latest run ended. */
function mayMatch(entry: Item, { agent, runStatus }: SessionFilter): boolean {
  if (agent !== undefined && textAt(entry, 'agent_print') !== printOf(agent)) return false
  const isActive = textAt(entry, 'active_run') !== undefined
  if (runStatus === 'running' || runStatus === 'paused') return isActive
  if (runStatus === 'queued') return (numberAt(entry, 'queued') ?? 0) > 0
  return !isActive || (runStatus !== 'completed' && runStatus !== 'failed')
}

/** The index may be behind the table, which has the last word. */
const matches = (session: Session, filter: SessionFilter): boolean =>
  (filter.owner === undefined || session.owner === filter.owner) &&
  (filter.agent === undefined || session.agent === filter.agent) &&
  (filter.runStatus === undefined || session.run?.status === filter.runStatus)

/** Cursors say where the previous page ended, so they stay valid whatever is added or removed. */
function placeOf(cursor: string): string {
  const at = Buffer.from(cursor, 'base64url').toString()
  if (!/^\d{15}#[^#]+$/su.test(at)) throw foreignCursor()
  return at
}
