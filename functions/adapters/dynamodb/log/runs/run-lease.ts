import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost } from '../../../../domain/errors.ts'
import { nextId } from '../../../../domain/ids.ts'
import type { ToolMessage } from '../../../../domain/messages/message.ts'
import { dequeuedRun, messageOfInput, resumedRun } from '../../../../domain/runs/run-changes.ts'
import { isBlocked, isFree, LEASE_MS, type Lease, type SessionHeader } from '../../../../domain/session.ts'
import type { RunLease, Started } from '../../../../ports/run-lease.ts'
import { flagAt, textAt, type Item } from '../../attributes.ts'
import { absent, all, any, below, is, together } from '../../expressions.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { renewExpiry } from '../sessions/deletion/expiry.ts'
import {
  freeAt,
  headerOf,
  heldHeader,
  isHeld,
  isLive,
  isNotBlocked,
  leased,
  live,
  mine,
  released,
  wasReleased,
} from '../sessions/header-item.ts'
import { NO_WRITE } from '../sessions/header-write.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { hasMoved, MOVED, untilUnmoved } from '../sessions/moved.ts'
import { headerKey, messageKey, runKey } from '../../keys.ts'
import { changeMessage, putMessage, textsOfMessage } from '../messages/message-item.ts'
import { decidedAs, isQueued, removeSteering, runOf, startedChange, textOfNotices } from './run-item.ts'
import { headerAtStart, landedLease, landedStart, leaseAtStart } from './run-start.ts'
import {
  createSessionRows,
  openCalls,
  queuedRuns,
  type DynamoDependencies,
  type SessionRows,
} from '../sessions/session-rows.ts'

/**
 * Interval at which heartbeats also move `due`. It is longer than the heartbeats' interval, because each move writes to
 * the index.
 */
const DUE_STEP_MS = 60_000
const HEARTBEATS_APART_MS = 15_000

/** Creates the lease store of sessions on DynamoDB. */
export function createDynamoRunLease(dependencies: DynamoDependencies): RunLease {
  const rows = createSessionRows(dependencies)
  return {
    readHeader: async (key) => {
      const header = await rows.table.read(headerKey(key))
      return header && headerOf(header)
    },
    readHeaderEventually: async (key) => {
      const header = await rows.table.readHeaderEventually(headerKey(key))
      return header && headerOf(header)
    },
    start: (seen, owner) => untilUnmoved(() => start(rows, seen, owner)),
    take: (seen, owner) => untilUnmoved(() => take(rows, seen, owner)),
    claim: (lease) => claim(rows, lease),
    heartbeat: (lease, until) => heartbeat(rows, lease, until),
    release: (lease) => release(rows, lease),
  }
}

async function start(
  rows: SessionRows,
  seen: SessionHeader,
  owner: string,
): Promise<Started | undefined | typeof MOVED> {
  const { table, bodies, clock } = rows
  const now = clock.now()
  const key = { tenant: seen.tenant, session: seen.session }
  const found = await table.read(headerKey(key))
  if (!isLive(found)) return startedBefore(rows, key, found, owner)
  const header = await listedHeader(rows, key, found)
  const state = headerOf(header)
  if (state.generation !== seen.generation || state.activeRun !== undefined || !isFree(state, now))
    return startedBefore(rows, key, header, owner)
  const { value: lowest } = await queuedRuns(rows, key, header).next()
  // An earlier attempt may have started the run after the header was read.
  if (lowest === undefined) return startedBefore(rows, key, await table.read(headerKey(key)), owner)
  const before = await runOf(bodies, key, lowest, undefined)
  const run = dequeuedRun(before, now, seen.generation + 1)
  const message = messageOfInput(before, run, nextId(state.head, now), now)
  const texts = message === undefined ? [] : await bodies.store(key, textsOfMessage(message))
  const change = { owner, now, runId: run.id, message, isLatest: textAt(header, 'tail') === run.id }
  const started = headerAtStart(header, change)
  const refusal = await table.write([
    {
      update: headerKey(key),
      when: all(live, is('gen', seen.generation), freeAt(now), absent('active_run'), ...started.when),
      change: together(started.change, { add: { queued: -1 } }),
    },
    ...started.actions,
    { update: runKey(key, run.id), when: isQueued, change: startedChange(run, state.head) },
    ...removeSteering(key, run),
    ...(message === undefined ? [] : [putMessage(key, message, texts)]),
    ...renewExpiry(key, header, now),
  ])
  if (refusal === undefined) return { lease: leaseAtStart(key, header, change), run, ...definedFields({ message }) }
  if (hasMoved(refusal, header)) return MOVED
  return startedBefore(rows, key, await table.read(headerKey(key)), owner)
}

/**
 * If this owner has already started a run and the store's response was lost, returns that run. Otherwise, returns
 * undefined.
 */
async function startedBefore(
  rows: SessionRows,
  key: { readonly tenant: string; readonly session: string },
  header: Item | undefined,
  owner: string,
): Promise<Started | undefined> {
  const lease = landedLease(key, header, owner)
  const item = lease && (await rows.table.read(runKey(key, lease.runId)))
  return lease && header && item && landedStart(rows, lease, header, item)
}

async function take(rows: SessionRows, seen: SessionHeader, owner: string): Promise<Lease | undefined | typeof MOVED> {
  const { table, bodies, clock } = rows
  const now = clock.now()
  const { activeRun } = seen
  const key = { tenant: seen.tenant, session: seen.session }
  if (activeRun === undefined) return undefined
  const [found, item] =
    isFree(seen, now) && !isBlocked(seen) ? await table.readMany([headerKey(key), runKey(key, activeRun)]) : []
  if (isLive(found) && item !== undefined) {
    const header = await listedHeader(rows, key, found)
    const { notices = [] } = resumedRun(
      await runOf(bodies, key, item, header),
      textAt(header, 'head'),
      seen.generation + 1,
    )
    const [text = {}] = await bodies.store(key, [textOfNotices(activeRun, notices)])
    const list = textAt(header, 'listed') === 'paused' ? relist(header, { runStatus: 'running' }) : NO_WRITE
    const change = together(
      leased(seen.generation, owner, now),
      seen.lease === undefined ? {} : { add: { takeovers: 1 } },
      list.change,
    )
    const refusal = await table.write([
      {
        update: headerKey(key),
        when: all(
          ...[live, is('gen', seen.generation), is('active_run', activeRun), freeAt(now), isNotBlocked],
          ...list.when,
        ),
        change,
      },
      ...list.actions,
      {
        update: runKey(key, activeRun),
        when: all(any(is('status', 'running'), is('status', 'paused')), decidedAs(item)),
        change: { set: { status: 'running', ...text } },
      },
    ])
    if (refusal === undefined)
      return {
        ...key,
        generation: seen.generation + 1,
        owner,
        runId: activeRun,
        until: now + LEASE_MS,
        head: seen.head,
      }
    if (hasMoved(refusal, header)) return MOVED
  }
  return landedLease(key, await table.read(headerKey(key)), owner)
}

async function claim(rows: SessionRows, lease: Lease): ReturnType<RunLease['claim']> {
  const { table } = rows
  const before = heldHeader(await table.read(headerKey(lease)), lease)
  const seen = await openCalls(rows, lease, before)
  const running = seen.filter(isClaimable(lease))
  const result = (header: Item, open: readonly ToolMessage[]) => ({
    lease: { ...lease, head: textAt(header, 'head') },
    header: headerOf(header),
    open,
  })
  if (running.length === 0) return result(before, seen)
  // A claim fails if the call has ended since it was read, or if a later holder has claimed the call. The reads below
  // show which of these happened.
  await Promise.all(
    running.map(({ id }) =>
      table.update(
        messageKey(lease, id),
        all(is('status', 'running'), below('gen', lease.generation)),
        changeMessage({ set: { gen: lease.generation } }),
      ),
    ),
  )
  const header = heldHeader(await table.read(headerKey(lease)), lease)
  return result(header, await openCalls(rows, lease, header))
}

const isClaimable =
  (lease: Lease) =>
  ({ status, generation }: ToolMessage): boolean =>
    status === 'running' && generation < lease.generation

async function heartbeat({ table }: SessionRows, lease: Lease, until: number): Promise<void> {
  const movesDue = (until - lease.until) % DUE_STEP_MS < HEARTBEATS_APART_MS && until - lease.until >= DUE_STEP_MS
  const updated = await table.update(headerKey(lease), all(mine(lease), below('lease_until', until)), {
    set: { lease_until: until, ...(movesDue ? { due: until } : {}) },
  })
  // The update also fails if a later heartbeat was faster. In this case, the lease is still held, and lasts at
  // least until `until`.
  if (!updated.done && !isHeld(updated.item, lease)) throw new LeaseLost(lease.session, lease.generation)
}

async function release({ table, clock }: SessionRows, lease: Lease): Promise<void> {
  const change = together(released(lease), { set: { due: clock.now() } })
  const refusal = await table.write([{ update: headerKey(lease), when: mine(lease), change }])
  if (refusal === undefined) return
  const header = await table.read(headerKey(lease))
  if (!wasReleased(header, lease) || flagAt(header, 'paused')) throw new LeaseLost(lease.session, lease.generation)
}
