import { definedFields } from '../../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { nextId, nextRunId } from '../../../../domain/ids.ts'
import { type Run } from '../../../../domain/runs/run.ts'
import { acceptedRun, messageOfInput, startedRun } from '../../../../domain/runs/run-changes.ts'
import type { SessionMessages } from '../../../../domain/session-messages.ts'
import { isBlocked, type SessionHeader, type SessionKey } from '../../../../domain/session.ts'
import type { Enqueued, NewRun, RunInbox, RunLimits } from '../../../../ports/run-inbox.ts'
import { numberAt, requiredText, textAt, type Item } from '../../attributes.ts'
import { requireBudgetOf } from '../usage/budget.ts'
import { resolveCalls } from './call-resolutions.ts'
import { deliveryActions } from '../deliveries/delivery-item.ts'
import { absent, all, any, below, is, present, together, type Change, type Condition } from '../../expressions.ts'
import { renewExpiry } from '../sessions/deletion/expiry.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { NO_WRITE, type HeaderWrite } from '../sessions/header-write.ts'
import { replaceNumbers } from '../sessions/message-numbers.ts'
import { isOpened, openSession } from '../sessions/opening-item.ts'
import { headerOf, isNotBlocked, live, liveHeader, notCancelled, woken } from '../sessions/header-item.ts'
import { claimKey, headerKey, messageKey, runKey } from '../../keys.ts'
import { putMessage, textsOfMessage } from '../messages/message-item.ts'
import { claimActions, findClaim, knownRun } from './claims.ts'
import { putRun, putSteering, runStatusOf, textsOfRun } from './run-item.ts'
import { headerAtStart, leaseAtStart } from './run-start.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../sessions/session-rows.ts'
import type { Action } from '../../table.ts'

/**
 * Maximum attempts. An attempt fails only if another process writes to this session between the attempt's read and its
 * write.
 */
const ATTEMPTS = 64
const MAX_WAIT_MS = 200

/** Creates the inbox for clients' requests on DynamoDB. */
export function createDynamoRunInbox(dependencies: DynamoDependencies): RunInbox {
  const rows = createSessionRows(dependencies)
  return {
    enqueue: (key, run) => untilDecided(rows, key, () => enqueue(rows, key, run)),
    assertCapacity: (tenant, limits) => assertCapacityOf(rows, tenant, limits),
    join: (key, runId, idempotency) => untilDecided(rows, key, () => join(rows, key, runId, idempotency)),
    resolve: (key, ...given) => untilDecided(rows, key, () => resolveCalls(rows, key, ...given)),
    findClaim: (key, keyHash) => findClaim(rows, key, keyHash),
    // Loaded with the first cancel.
    cancel: (key, runId) =>
      untilDecided(rows, key, async () => (await import('./run-cancel.ts')).cancel(rows, key, runId)),
  }
}

/** Prepares a replacement. The module is loaded with the first replacement, because few inputs replace runs. */
const prepare = async (rows: SessionRows, key: SessionKey, header: Item, { replaces }: NewRun) =>
  replaces === undefined
    ? undefined
    : (await import('./replacement-items.ts')).prepareReplacement(rows, key, header, replaces)

const endsSuperseded = async (rows: SessionRows, key: SessionKey, header: SessionHeader): Promise<boolean> =>
  (await import('./replacement-items.ts')).endsSuperseded(rows, key, header)

/**
 * Returns the actions that enforce a key's cap. Their module is loaded with the first key that has a cap, because few
 * keys have one.
 */
const countRun = async (rows: SessionRows, key: SessionKey, limits: RunLimits, runId: string): Promise<Action[]> =>
  limits.mostActive === undefined ? [] : (await import('./active-runs.ts')).countActions(rows, key, limits, runId)

/** Returns the write that sets the session's opening from its first input. For any later input, the write is empty. */
async function openBy(key: SessionKey, header: Item, { input }: Run): Promise<HeaderWrite> {
  if (input === undefined || isOpened(header)) return NO_WRITE
  return openSession(key, header, (await import('../../../../log/title.ts')).openingOf(input.parts))
}

/**
 * Repeats work until it returns a value. Work returns undefined if the session changed between its read and its write.
 */
async function untilDecided<Resolution>(
  { clock }: SessionRows,
  key: SessionKey,
  work: () => Promise<Resolution | undefined>,
): Promise<Resolution> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const resolution = await work()
    if (resolution !== undefined) return resolution
    await clock.sleep(Math.random() * Math.min(10 * attempt, MAX_WAIT_MS))
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}

async function enqueue(rows: SessionRows, key: SessionKey, newRun: NewRun): Promise<Enqueued | undefined> {
  const { table, clock } = rows
  const now = clock.now()
  const { idempotency } = newRun
  const claims = idempotency === undefined ? [] : [claimKey(key, idempotency.keyHash)]
  const [found, claim] = await table.readMany([headerKey(key), ...claims])
  const before = liveHeader(found, key)
  const known = knownRun(claim, newRun, now)
  if (known !== undefined) return { runId: known, repeated: true }
  const header = await listedHeader(rows, key, before)
  const state = headerOf(header)
  await requireAcceptable(rows, key, state, newRun)
  const replacing = await prepare(rows, key, header, newRun)
  await requireBudgetOf(table, key.tenant, newRun, now)
  const run = acceptedRun(newRun, nextRunId(state.tail, state.head, now), now)
  const claimed = [
    ...claimActions(key, newRun, run.id, now),
    ...(await countRun(rows, key, newRun, run.id)),
    ...deliveryActions({ ...key, id: run.id }, header, newRun, now),
    ...(replacing === undefined ? [] : replacing.actions(run.id)),
  ]
  const left = replacing?.left
  return newRun.startAs !== undefined && isIdle(state)
    ? startAtOnce(rows, key, header, run, { owner: newRun.startAs, now, claimed, ...definedFields({ left }) })
    : putInQueue(rows, key, header, run, { now, claimed, left })
}

async function assertCapacityOf(rows: SessionRows, tenant: string, limits: RunLimits): Promise<void> {
  await requireBudgetOf(rows.table, tenant, limits, rows.clock.now())
  // Only an error of this check matters. The returned actions are not used, because there is no run yet.
  await countRun(rows, { tenant, session: '' }, limits, '')
}

async function join(
  { table, clock }: SessionRows,
  key: SessionKey,
  runId: string,
  idempotency: NonNullable<NewRun['idempotency']>,
): Promise<Pick<Enqueued, 'runId' | 'repeated'> | undefined> {
  const now = clock.now()
  const [header, claim] = await table.readMany([headerKey(key), claimKey(key, idempotency.keyHash)])
  liveHeader(header, key)
  const known = knownRun(claim, { idempotency }, now)
  if (known !== undefined) return { runId: known, repeated: true }
  const refusal = await table.write([
    { check: headerKey(key), when: live },
    ...claimActions(key, { idempotency }, runId, now),
  ])
  return refusal === undefined ? { runId, repeated: false } : undefined
}

const isIdle = (header: SessionHeader): boolean =>
  header.lease === undefined && header.activeRun === undefined && header.queued === 0

const tailBelow = (id: string): Condition => any(absent('tail'), below('tail', id))

async function startAtOnce(
  rows: SessionRows,
  key: SessionKey,
  header: Item,
  accepted: Run,
  { owner, now, claimed, left }: { owner: string; now: number; claimed: readonly Action[]; left?: SessionMessages },
): Promise<Enqueued | undefined> {
  const { table, bodies } = rows
  const generation = numberAt(header, 'gen') ?? 0
  const run = startedRun(accepted, now, generation + 1)
  const head = textAt(header, 'head')
  const message = messageOfInput(accepted, run, nextId(head, now), now)
  const [body = {}, ...texts] = await bodies.store(key, [
    ...textsOfRun(run),
    ...(message === undefined ? [] : textsOfMessage(message)),
  ])
  const start = { owner, now, runId: run.id, message, isLatest: true, ...definedFields({ left }) }
  const started = headerAtStart(header, start)
  const opened = await openBy(key, header, accepted)
  const refusal = await table.write([
    {
      update: headerKey(key),
      when: all(
        ...[live, is('gen', generation), tailBelow(run.id)],
        ...[absent('lease_until'), absent('active_run'), is('queued', 0)],
        ...[...started.when, ...opened.when],
      ),
      change: together(started.change, opened.change, { set: { tail: run.id } }),
    },
    ...started.actions,
    ...opened.actions,
    putRun(key, run, [body], head),
    ...(message === undefined ? [] : [putMessage(key, message, texts)]),
    ...renewExpiry(key, header, now),
    ...claimed,
  ])
  if (refusal !== undefined) return undefined
  const lease = leaseAtStart(key, header, start)
  return { runId: run.id, repeated: false, started: { lease, run, ...definedFields({ message }) } }
}

/** Queues a run. If the active run is paused and its calls still wait, the new run supersedes it. */
async function putInQueue(
  { table, bodies }: SessionRows,
  key: SessionKey,
  item: Item,
  run: Run,
  { now, claimed, left }: { now: number; claimed: readonly Action[]; left: SessionMessages | undefined },
): Promise<Enqueued | undefined> {
  const header = headerOf(item)
  const texts = await bodies.store(key, textsOfRun(run))
  const list = relist(item, { runStatus: 'queued', ...(left === undefined ? {} : { lastMessageAt: left.lastAt }) })
  const opened = await openBy(key, item, run)
  const blocked = isBlocked(header) && header.activeRun !== undefined
  const superseded: Change = blocked ? { set: { cancel_run: header.activeRun, cancel_reason: 'superseded' } } : {}
  const refusal = await table.write([
    {
      update: headerKey(key),
      when: all(
        ...[live, tailBelow(run.id), blocked ? isBlockedBy(header) : isNotBlocked],
        ...(left === undefined ? idleWhereAsked(header, run) : [absent('active_run'), is('queued', 0)]),
        // An import since the read must make this write fail. The condition on `tail` does not detect an import,
        // because `tail` does not name imported runs. A busy session accepts no import.
        isBusy(header) ? stillBusy : is('gen', header.generation),
        ...[...list.when, ...opened.when],
      ),
      change: together(
        woken(now),
        superseded,
        { set: { tail: run.id }, add: { queued: 1 } },
        left === undefined ? {} : replaceNumbers(left),
        list.change,
        opened.change,
      ),
    },
    ...list.actions,
    ...opened.actions,
    putRun(key, run, texts),
    ...putSteering(key, run),
    ...claimed,
  ])
  return refusal === undefined ? { runId: run.id, repeated: false } : undefined
}

const isBusy = (header: SessionHeader): boolean => header.activeRun !== undefined || header.queued > 0

const someWait =
  (count: 'waiting' | 'queued'): Condition =>
  (scope) =>
    `NOT (${is(count, 0)(scope)})`

const stillBusy: Condition = any(present('active_run'), someWait('queued'))

const isBlockedBy = ({ activeRun = '' }: SessionHeader): Condition =>
  all(is('active_run', activeRun), is('paused', true), notCancelled, someWait('waiting'))

/** Returns conditions that repeat the checks of `requireAcceptable` when the write happens. */
function idleWhereAsked(header: SessionHeader, run: Run): Condition[] {
  const isEmpty = is('queued', 0)
  if (run.trigger === 'continue') return [is('tail', header.tail ?? ''), absent('active_run'), isEmpty]
  if (run.onBusy !== 'reject') return []
  return isBlocked(header) ? [isEmpty] : [absent('active_run'), isEmpty]
}

async function requireAcceptable(
  rows: SessionRows,
  key: SessionKey,
  header: SessionHeader,
  { trigger, onBusy }: NewRun,
): Promise<void> {
  const busy = isBusy(header)
  if (trigger === 'continue') {
    if (busy || (await statusAtEnd(rows, key, header)) !== 'failed' || (await endsSuperseded(rows, key, header)))
      throw new TooltrailError('nothing_to_continue', `session ${key.session} has no failed run to continue`)
    return
  }
  const gives = isBlocked(header) && header.queued === 0
  if (onBusy === 'reject' && busy && !gives)
    throw new TooltrailError('session_busy', `session ${key.session} has a run that has not ended`, { retryable: true })
}

/** Returns the status of the run of the log's last message. Later runs may have been cancelled before they began. */
async function statusAtEnd(
  { table }: SessionRows,
  key: SessionKey,
  { head }: SessionHeader,
): Promise<string | undefined> {
  const message = head === undefined ? undefined : await table.read(messageKey(key, head))
  const run = message && (await table.read(runKey(key, requiredText(message, 'run'))))
  return run && runStatusOf(run)
}
