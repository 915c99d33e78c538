import { definedFields } from '../../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { NO_TOTALS, type Session, type SessionKey, type SessionTotals } from '../../../../domain/session.ts'
import { NO_MESSAGES } from '../../../../domain/session-messages.ts'
import { replacesTitle } from '../../../../domain/session-title.ts'
import { titleCompletion } from '../../../../domain/context.ts'
import { joinUsages, sumOf } from '../../../../domain/usage/usage.ts'
import type {
  NewSession,
  SessionAbout,
  SessionChange,
  SessionStore,
  TitleByModel,
} from '../../../../ports/session-store.ts'
import { numberAt, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, all, any, below, is, present, together, type Change } from '../../expressions.ts'
import { putExpiry } from './expiry.ts'
import { summariesByHand, summaryOf } from './context-item.ts'
import { active, isLive, live, liveHeader, updatedAt } from './header-item.ts'
import {
  contextKey,
  detailsKey,
  headerKey,
  ownerGroup,
  placeAt,
  printOf,
  runKey,
  sessionsGroup,
  shardOf,
} from '../../keys.ts'
import { runIdOf, runStatusOf } from '../runs/run-item.ts'
import { listSessions } from './session-list.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from './session-rows.ts'
import { countedInRun, usageOf } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

/** What people say about a session, as the details keep it. */
type Details = Pick<
  Session,
  | 'agent'
  | 'owner'
  | 'user'
  | 'title'
  | 'titleSource'
  | 'instructions'
  | 'metadata'
  | 'ownerBound'
  | 'byChannel'
  | 'forkedFrom'
  | 'createdAt'
>

const ATTEMPTS = 16

/** Sessions as their users see them, on DynamoDB. */
export function createDynamoSessionStore(dependencies: DynamoDependencies): SessionStore {
  const rows = createSessionRows(dependencies)
  return {
    create: (session) => create(rows, session),
    read: async (key) => (await readSessions(rows, [key]))[0],
    async living(tenant, sessions) {
      const headers = await rows.table.readMany(sessions.map((session) => headerKey({ tenant, session })))
      return new Set(sessions.filter((_, place) => isLive(headers[place])))
    },
    list: (filter) => listSessions(rows, filter, (keys) => readSessions(rows, keys)),
    update: async (key, change) => {
      await rewrite(
        rows,
        key,
        (details) => changed(details, change),
        (header) => active(header, rows.clock.now()),
      )
      const [session] = await readSessions(rows, [key])
      if (session === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      return session
    },
    describe: (key, about) => rewrite(rows, key, (details) => described(details, about)),
    recordTitle: (key, made) => recordTitle(rows, key, made),
    ...summariesByHand(rows),
    bindToOwner: (key) => rewrite(rows, key, (details) => ({ ...details, ownerBound: true })),
  }
}

async function create(rows: SessionRows, session: NewSession): Promise<Session> {
  const { table, bodies, clock } = rows
  const now = clock.now()
  const key = { tenant: session.tenant, session: session.session }
  const { ttlDays, tenant: _, session: __, ...said } = session
  const titled = said.title === undefined ? {} : { titleSource: said.titleSource ?? 'given' }
  const details: Details = { ...said, ...titled, createdAt: now }
  const [body = {}] = await bodies.store(key, [{ id: DETAILS_ID, attribute: 'body', text: JSON.stringify(details) }])
  const header = toItem({
    ...headerKey(key),
    ...{ status: 'live', gen: 0, paused: false, waiting: 0, queued: 0, takeovers: 0, runs: 0, rounds: 0 },
    ttl_days: ttlDays,
    due_shard: shardOf('due', key),
    group: sessionsGroup(key),
    owner_group: details.owner === undefined ? undefined : ownerGroup(key.tenant, details.owner),
    at: placeAt(now, key.session),
    ...printsOf(details),
  })
  const isPast = all(is('status', 'deleted'), below('forget_at', now + 1), absent('due'))
  const refusal = await table.write([
    { put: header, when: any(absent('pk'), isPast) },
    { put: toItem({ ...detailsKey(key), ...body, rev: 1 }) },
    ...putExpiry(key, ttlDays, now),
  ])
  if (refusal !== undefined)
    throw new TooltrailError('session_exists', `session ${key.session} exists, or was deleted less than 30 days ago`)
  return { ...key, ...details, updatedAt: now, totals: NO_TOTALS, messages: NO_MESSAGES }
}

/** Names the object of details that are too large for their item. */
const DETAILS_ID = '0'.repeat(26)

/** What lists filter by, and who may request a deletion. */
const printsOf = ({ agent, owner }: Details) => ({
  agent_print: printOf(agent),
  owner_print: owner === undefined ? undefined : printOf(owner),
})

/** Rewrites what people say about a session, and `moved` in its header. */
async function rewrite(
  rows: SessionRows,
  key: SessionKey,
  change: (details: Details) => Details,
  moved: (header: Item) => Change = () => ({}),
): Promise<void> {
  const { table, bodies } = rows
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [found, details] = await table.readMany([headerKey(key), detailsKey(key)])
    const header = liveHeader(found, key)
    const next = change(await detailsOf(rows, key, details))
    const [body = {}] = await bodies.store(key, [{ id: DETAILS_ID, attribute: 'body', text: JSON.stringify(next) }])
    const rev = details && numberAt(details, 'rev')
    const unused = ['body', 'body_object'].filter((name) => !(name in body))
    const refusal = await table.write([
      { update: headerKey(key), when: live, change: together(moved(header), { set: printsOf(next) }) },
      {
        update: detailsKey(key),
        when: is('rev', rev ?? 0),
        change: { set: { ...body, rev: (rev ?? 0) + 1 }, remove: unused },
      },
    ])
    if (refusal === undefined) return
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}

function changed(details: Details, change: SessionChange): Details {
  const { user, title, titleSource, instructions, ...rest } = details
  const after = <Value>(to: Value | null | undefined, before: Value | undefined): Value | undefined =>
    to === undefined ? before : (to ?? undefined)
  return {
    ...rest,
    agent: change.agent ?? details.agent,
    metadata: change.metadata ?? details.metadata,
    ...definedFields({
      user: after(change.user, user),
      title: after(change.title, title),
      titleSource: change.title === undefined ? titleSource : change.title === null ? undefined : 'given',
      instructions: after(change.instructions, instructions),
    }),
  }
}

function described(details: Details, { title, metadata }: SessionAbout): Details {
  const isNew = title !== undefined && replacesTitle(title.source, details.titleSource)
  const titled = isNew ? { title: title.text, titleSource: title.source } : {}
  return { ...details, ...titled, metadata: { ...details.metadata, ...metadata } }
}

/** The usage is counted first, because it was spent whether or not the title is stored. */
async function recordTitle(rows: SessionRows, key: SessionKey, { title, work, account }: TitleByModel): Promise<void> {
  const completion = titleCompletion(work)
  const counted = countUsage(key, completion, account)
  const isCounted = { update: detailsKey(key), when: present('pk'), change: { add: countedInRun(completion) } }
  const refusal = await rows.table.write([{ check: headerKey(key), when: live }, isCounted, ...counted])
  if (refusal !== undefined) await rows.table.write(counted)
  else if (title !== undefined)
    await rewrite(rows, key, (details) => described(details, { title: { text: title, source: 'model' } }))
}

async function detailsOf({ bodies }: SessionRows, key: SessionKey, item: Item | undefined): Promise<Details> {
  const body = item && (await bodies.read(key, item, 'body'))
  if (body === undefined) throw new Error(`session ${key.session} has no details`)
  return JSON.parse(body) as Details
}

/** Live sessions of these keys, in their order, each as of now. */
async function readSessions(rows: SessionRows, keys: readonly SessionKey[]): Promise<Session[]> {
  const { table } = rows
  const items = await table.readMany(keys.flatMap((key) => [headerKey(key), detailsKey(key), contextKey(key)]))
  const found = keys.flatMap((key, place) => {
    const [header, details, context] = items.slice(place * 3, place * 3 + 3)
    return isLive(header) ? [{ key, header, details, context }] : []
  })
  const tails = await readLatestRuns(
    rows,
    found.map(({ key, header }) => ({ key, id: textAt(header, 'tail') })),
  )
  return Promise.all(
    found.map(async ({ key, header, details, context }, place) => {
      const run = tails[place]
      const summary = await summaryOf(rows, key, context)
      return {
        tenant: key.tenant,
        session: key.session,
        ...(await detailsOf(rows, key, details)),
        updatedAt: updatedAt(header),
        ...(run === undefined ? {} : { run: { id: runIdOf(run), status: runStatusOf(run) } }),
        totals: totalsOf(header, details ?? {}),
        messages: NO_MESSAGES,
        ...(summary === undefined ? {} : { summary }),
      }
    }),
  )
}

/** The latest runs accepted, or those that they were merged into. */
async function readLatestRuns(
  { table }: SessionRows,
  wanted: readonly { readonly key: SessionKey; readonly id: string | undefined }[],
): Promise<(Item | undefined)[]> {
  const read = async (ids: readonly (string | undefined)[]): Promise<(Item | undefined)[]> => {
    const keys = wanted.flatMap(({ key }, place) => {
      const id = ids[place]
      return id === undefined ? [] : [{ place, key: runKey(key, id) }]
    })
    const items = await table.readMany(keys.map(({ key }) => key))
    const result: (Item | undefined)[] = []
    for (const [at, { place }] of keys.entries()) result[place] = items[at]
    return result
  }
  const latest = await read(wanted.map(({ id }) => id))
  const targets = await read(wanted.map((_, place) => latest[place] && textAt(latest[place], 'merged_into')))
  return wanted.map((_, place) => targets[place] ?? latest[place])
}

/** Ended runs are counted in the details, the active one in the header. */
function totalsOf(header: Item, details: Item): SessionTotals {
  const run = textAt(header, 'active_run')
  const isCounted = run === undefined || run === textAt(details, 'folded')
  const byAgent = isCounted ? usageOf(details) : joinUsages(usageOf(details), usageOf(header))
  return {
    runs: numberAt(header, 'runs') ?? 0,
    rounds: (numberAt(details, 'rounds') ?? 0) + (isCounted ? 0 : (numberAt(header, 'rounds') ?? 0)),
    usage: sumOf(byAgent),
    byAgent,
  }
}
