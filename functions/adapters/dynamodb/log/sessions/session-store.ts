import { TooltrailError } from '../../../../domain/errors.ts'
import { COPY_EXPIRY_MS, NO_TOTALS, type Session, type SessionKey } from '../../../../domain/session.ts'
import { NO_MESSAGES } from '../../../../domain/session-messages.ts'
import type { NewSession, SessionStore } from '../../../../ports/session-store.ts'
import { toItem } from '../../attributes.ts'
import { absent, all, any, below, is } from '../../expressions.ts'
import { headerKey, shardOf } from '../../keys.ts'
import { putExpiry, putExpiryAt } from './deletion/expiry.ts'
import { isLive } from './header-item.ts'
import { firstListing } from './lists/list-entries.ts'
import { listedAs, putDetails, storeDetails, type Details } from './session-details.ts'
import { readLabels, readSessions } from './session-reader.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from './session-rows.ts'

/** Creates the session store for users' requests on DynamoDB. */
export function createDynamoSessionStore(dependencies: DynamoDependencies): SessionStore {
  const rows = createSessionRows(dependencies)
  const read = async (key: SessionKey): Promise<Session | undefined> => (await readSessions(rows, [key]))[0]?.session
  return {
    create: (session) => create(rows, session),
    read,
    async living(tenant, sessions) {
      const headers = await rows.table.readMany(sessions.map((session) => headerKey({ tenant, session })))
      return new Set(sessions.filter((_, place) => isLive(headers[place])))
    },
    readLabels: (tenant, sessions) => readLabels(rows, tenant, sessions),
    // Loaded on demand, because a process that executes runs lists no sessions.
    list: async (filter) => (await import('./lists/session-list.ts')).listSessions(rows, filter),
    findIds: async (conditions) => (await import('./lists/session-list.ts')).findIds(rows, conditions),
    update: async (key, change) => {
      await (await changes()).changeSession(rows, key, change)
      const session = await read(key)
      if (session === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      return session
    },
    describe: async (key, about) => (await changes()).describeSession(rows, key, about),
    recordTitle: async (key, made) => (await changes()).recordTitle(rows, key, made),
    summaryUnder: async (key, idempotency) => (await summaries()).summariesByHand(rows).summaryUnder(key, idempotency),
    recordSummary: async (seen, made) => (await summaries()).summariesByHand(rows).recordSummary(seen, made),
    bindToOwner: async (key) => (await changes()).bindSession(rows, key),
  }
}

/** Loads the module with the first change of a session's details, because few requests make such a change. */
const changes = () => import('./session-changes.ts')
const summaries = () => import('./summaries-by-hand.ts')

async function create(rows: SessionRows, session: NewSession): Promise<Session> {
  const { table, clock } = rows
  const now = clock.now()
  const key = { tenant: session.tenant, session: session.session }
  const { ttlDays, awaitsCopy, tenant: _, session: __, ...said } = session
  const titled = said.title === undefined ? {} : { titleSource: said.titleSource ?? 'given' }
  const details: Details = { ...said, ...titled, createdAt: now }
  const body = await storeDetails(rows, key, details)
  const { fields, actions } = firstListing({ key, ...listedAs(details), createdAt: now, updatedAt: now })
  const header = toItem({
    ...headerKey(key),
    ...{ status: 'live', gen: 0, paused: false, waiting: 0, queued: 0, takeovers: 0, runs: 0, rounds: 0 },
    ttl_days: ttlDays,
    copy_gen: awaitsCopy && 0,
    due_shard: shardOf('due', key),
    ...fields,
  })
  const isPast = all(is('status', 'deleted'), below('forget_at', now + 1), absent('due'))
  const refusal = await table.write([
    { put: header, when: any(absent('pk'), isPast) },
    putDetails(key, body),
    ...actions,
    ...(awaitsCopy ? [putExpiryAt(key, now + COPY_EXPIRY_MS)] : putExpiry(key, ttlDays, now)),
  ])
  if (refusal !== undefined)
    throw new TooltrailError('session_exists', `session ${key.session} exists, or was deleted less than 30 days ago`)
  return { ...key, ...details, updatedAt: now, totals: NO_TOTALS, messages: NO_MESSAGES }
}
