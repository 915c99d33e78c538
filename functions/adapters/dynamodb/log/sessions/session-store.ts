import { titleCompletion } from '../../../../domain/context.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { NO_TOTALS, type Session, type SessionKey } from '../../../../domain/session.ts'
import { NO_MESSAGES } from '../../../../domain/session-messages.ts'
import type { NewSession, SessionAbout, SessionStore, TitleByModel } from '../../../../ports/session-store.ts'
import { toItem } from '../../attributes.ts'
import { absent, all, any, below, is, present } from '../../expressions.ts'
import { detailsKey, headerKey, shardOf } from '../../keys.ts'
import { summariesByHand } from './context-item.ts'
import { rewriteDetails } from './details-rewrite.ts'
import { putExpiry } from './expiry.ts'
import { isLive, live } from './header-item.ts'
import { firstListing } from './list-entries.ts'
import {
  changedDetails,
  describedDetails,
  listedAs,
  putDetails,
  storeDetails,
  type Details,
} from './session-details.ts'
import { listSessions } from './session-list.ts'
import { readSessions } from './session-reader.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from './session-rows.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

/** Sessions as their users see them, on DynamoDB. */
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
    list: (filter) => listSessions(rows, filter),
    update: async (key, change) => {
      await rewriteDetails(rows, key, (details) => changedDetails(details, change), true)
      const session = await read(key)
      if (session === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      return session
    },
    describe: (key, about) => describeSession(rows, key, about),
    recordTitle: (key, made) => recordTitle(rows, key, made),
    ...summariesByHand(rows),
    bindToOwner: (key) => rewriteDetails(rows, key, (details) => ({ ...details, ownerBound: true })),
  }
}

async function create(rows: SessionRows, session: NewSession): Promise<Session> {
  const { table, clock } = rows
  const now = clock.now()
  const key = { tenant: session.tenant, session: session.session }
  const { ttlDays, tenant: _, session: __, ...said } = session
  const titled = said.title === undefined ? {} : { titleSource: said.titleSource ?? 'given' }
  const details: Details = { ...said, ...titled, createdAt: now }
  const body = await storeDetails(rows, key, details)
  const { fields, actions } = firstListing({ key, ...listedAs(details), createdAt: now, updatedAt: now })
  const header = toItem({
    ...headerKey(key),
    ...{ status: 'live', gen: 0, paused: false, waiting: 0, queued: 0, takeovers: 0, runs: 0, rounds: 0 },
    ttl_days: ttlDays,
    due_shard: shardOf('due', key),
    ...fields,
  })
  const isPast = all(is('status', 'deleted'), below('forget_at', now + 1), absent('due'))
  const refusal = await table.write([
    { put: header, when: any(absent('pk'), isPast) },
    putDetails(key, body),
    ...actions,
    ...putExpiry(key, ttlDays, now),
  ])
  if (refusal !== undefined)
    throw new TooltrailError('session_exists', `session ${key.session} exists, or was deleted less than 30 days ago`)
  return { ...key, ...details, updatedAt: now, totals: NO_TOTALS, messages: NO_MESSAGES }
}

const describeSession = (rows: SessionRows, key: SessionKey, about: SessionAbout): Promise<void> =>
  rewriteDetails(rows, key, (details) => describedDetails(details, about))

/** The usage is counted first, because it was spent whether or not the title is stored. */
async function recordTitle(rows: SessionRows, key: SessionKey, { title, work, account }: TitleByModel): Promise<void> {
  const completion = titleCompletion(work)
  const counted = countUsage(key, completion, account)
  const isCounted = { update: detailsKey(key), when: present('pk'), change: { add: countedInRun(completion) } }
  const refusal = await rows.table.write([{ check: headerKey(key), when: live }, isCounted, ...counted])
  if (refusal !== undefined) await rows.table.write(counted)
  else if (title !== undefined)
    await describeSession(rows, key, { title: { text: title, source: 'model' } }).catch((error: unknown) => {
      // Deleted since the work was counted.
      if (!(error instanceof TooltrailError) || error.code !== 'session_not_found') throw error
    })
}
