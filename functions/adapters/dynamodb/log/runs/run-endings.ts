import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { AssistantMessage, ToolMessage } from '../../../../domain/messages/message.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import { callAtEnd, CLOSED_AT_END, endedRun, pausedRun, type RunEnd } from '../../../../domain/runs/run-changes.ts'
import type { Lease, SessionKey } from '../../../../domain/session.ts'
import type { UsageAccount } from '../../../../domain/usage/usage-count.ts'
import type { RunLog } from '../../../../ports/run-log.ts'
import { numberAt, textAt, type Item } from '../../attributes.ts'
import type { TextFields } from '../messages/bodies.ts'
import { putContext } from '../sessions/context-item.ts'
import { above, all, is, present, together, type Change, type Condition } from '../../expressions.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { renewExpiry } from '../sessions/deletion/expiry.ts'
import { activeAt, headIs, isHeld, isLive, mine, notCancelled, released } from '../sessions/header-item.ts'
import { NO_WRITE, type HeaderWrite } from '../sessions/header-write.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { countMessages, lastMessageAt } from '../sessions/message-numbers.ts'
import { hasMoved, MOVED, untilUnmoved } from '../sessions/moved.ts'
import { detailsKey, headerKey, messageKey, runKey } from '../../keys.ts'
import {
  batchOf,
  changeMessage,
  documentsOfResult,
  isCall,
  isSame,
  messageOf,
  putMessage,
  textOfResult,
  textsOfMessage,
  toolMessageOf,
} from '../messages/message-item.ts'
import { decidedAs, runOf, runStatusOf, textOfEnd, textOfNotices } from './run-item.ts'
import { landedPause } from './run-start.ts'
import { openCalls, rowsOfRun, type SessionRows } from '../sessions/session-rows.ts'
import { putNumbers } from '../messages/source-items.ts'
import type { Action } from '../../table.ts'
import { counterNames } from '../usage/usage-counters.ts'
import { countersAtEnd, hasMoreCounters, moveCounters } from '../usage/usage-folding.ts'
import { countUsage } from '../usage/usage-items.ts'

type Ended = NonNullable<Awaited<ReturnType<RunLog['endRun']>>>

/** Maximum attempts. An attempt fails only if a client writes to the session between its read and its write. */
const ATTEMPTS = 16

/** Reads the header and the run of a lease with strong reads. */
async function readHeld({ table }: SessionRows, lease: Lease): Promise<{ header: Item | undefined; run: Item }> {
  const [header, run] = await table.readMany([headerKey(lease), runKey(lease, lease.runId)])
  if (run === undefined) throw new LeaseLost(lease.session, lease.generation)
  return { header, run }
}

/** Pauses the run and releases the lease, if a call waits and no cancel was requested. */
export const pause = (rows: SessionRows, lease: Lease): Promise<Run | undefined> =>
  untilUnmoved(() => tryPause(rows, lease))

async function tryPause(rows: SessionRows, lease: Lease): Promise<Run | undefined | typeof MOVED> {
  const { table, bodies, clock } = rows
  const read = await readHeld(rows, lease)
  if (!isHeld(read.header, lease)) return landedPause(rows, lease, read)
  const header = await listedHeader(rows, lease, read.header)
  if ((numberAt(header, 'waiting') ?? 0) === 0 || textAt(header, 'cancel_run') !== undefined) return undefined
  const [before, calls] = await Promise.all([runOf(bodies, lease, read.run, header), openCalls(rows, lease, header)])
  const waiting = calls.filter(({ status }) => status === 'waiting')
  const run = pausedRun(before, waiting, textAt(header, 'head'), lease.generation)
  const [notices = {}] = await bodies.store(lease, [textOfNotices(run.id, run.notices ?? [])])
  const list = textAt(header, 'listed') === 'running' ? relist(header, { runStatus: 'paused' }) : NO_WRITE
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), above('waiting', 0), notCancelled, ...list.when),
      change: together(released(lease), { set: { paused: true }, remove: ['due'] }, list.change),
    },
    ...list.actions,
    {
      update: runKey(lease, lease.runId),
      when: all(is('status', 'running'), decidedAs(read.run)),
      change: { set: { status: 'paused', ...notices } },
    },
    ...renewExpiry(lease, header, clock.now()),
  ])
  if (refusal === undefined) return run
  if (hasMoved(refusal, header)) return MOVED
  if (refusal[0] !== undefined && isHeld(refusal[0].item, lease)) return undefined
  return landedPause(rows, lease, await readHeld(rows, lease))
}

/** Ends the run with its last message, closes its open calls, and releases the lease. */
export async function endRun(
  rows: SessionRows,
  lease: Lease,
  end: RunEnd,
  account: UsageAccount = {},
): Promise<Ended | undefined> {
  const { bodies, clock } = rows
  const now = clock.now()
  const texts = await bodies.store(lease, [
    textOfEnd(lease.runId, end),
    ...(end.message === undefined ? [] : textsOfMessage(end.message)),
  ])
  const closed = new Map<string, ToolMessage>()
  for (let refused = 0; refused < ATTEMPTS;) {
    const { header: found, run } = await readHeld(rows, lease)
    if (!isHeld(found, lease)) return endedBefore(rows, lease, end, { header: found, run })
    const header = await listedHeader(rows, lease, found)
    if (hasMoreCounters(header)) {
      if ((await rows.table.write(moveCounters(lease, header))) !== undefined) refused++
      continue
    }
    if (textAt(header, 'cancel_run') !== undefined && end.outcome !== 'cancelled') return undefined
    requireGreater(end.message, header)
    const open = await openCalls(rows, lease, header)
    const batch = batchOf(open)
    const isLast = batch.length === open.length
    const calls = batch.map((call) => callAtEnd(call, now))
    const actions = isLast
      ? [
          ...(await endActions(rows, lease, end, { header, run, texts, now, calls: batch })),
          ...countUsage(lease, end.message, account),
        ]
      : await closeActions(rows, lease, batch, now)
    if ((await rows.table.write(actions)) !== undefined) {
      refused++
      continue
    }
    for (const call of calls) closed.set(call.id, call)
    if (!isLast) continue
    const before = await runOf(bodies, lease, run, header)
    return { run: endedRun(before, end, now), closed: [...closed.values()], queued: isQueued(header) }
  }
  throw new TooltrailError('storage_failed', `session ${lease.session} kept changing at the end of a run`, {
    retryable: true,
  })
}

function requireGreater(message: AssistantMessage | undefined, header: Item): void {
  const head = textAt(header, 'head')
  if (message !== undefined && head !== undefined && message.id <= head)
    throw new TooltrailError('storage_failed', `message id ${message.id} is not greater than the last, ${head}`)
}

/** Returns the actions that store the calls as `close` returns them. They fail if a client has just resolved a call. */
export async function closeRows(
  { bodies }: SessionRows,
  key: SessionKey,
  calls: readonly ToolMessage[],
  close: (call: ToolMessage) => ToolMessage,
): Promise<Action[]> {
  const closed = calls.map(close)
  const texts = await bodies.store(
    key,
    closed.map((call) => textOfResult(call.id, call)),
  )
  return closed.map((after, place) => ({
    update: messageKey(key, after.id),
    when: isCall(calls[place]?.status ?? after.status, after.generation),
    change: changeMessage({
      set: { status: after.status, ...texts[place] },
      add: { documents: documentsOfResult(after) },
    }),
  }))
}

const isQueued = (header: Item): boolean => (numberAt(header, 'queued') ?? 0) > 0

const waitingIn = (calls: readonly ToolMessage[]): number => calls.filter(({ status }) => status === 'waiting').length

/** Returns the actions that close some calls before the run ends, if one write cannot close all of them. */
async function closeActions(
  rows: SessionRows,
  lease: Lease,
  calls: readonly ToolMessage[],
  now: number,
): Promise<Action[]> {
  const change = { add: { waiting: -waitingIn(calls) } }
  return [
    { update: headerKey(lease), when: mine(lease), change },
    ...(await closeRows(rows, lease, calls, (call) => callAtEnd(call, now))),
  ]
}

interface EndState {
  readonly header: Item
  readonly run: Item
  readonly texts: readonly TextFields[]
  readonly now: number
  readonly calls: readonly ToolMessage[]
}

async function endActions(rows: SessionRows, lease: Lease, end: RunEnd, state: EndState): Promise<Action[]> {
  const { header, texts, now, calls } = state
  const { message, outcome } = end
  const [endText = {}, ...messageTexts] = texts
  const counters = countersAtEnd(header, end)
  const list = listAtEnd(header, end, now)
  return [
    {
      update: headerKey(lease),
      when: all(endCondition(lease, end, header), ...list.when),
      change: together(headerAtEnd(lease, end, header, now), list.change),
    },
    ...list.actions,
    {
      update: runKey(lease, lease.runId),
      when: is('status', 'running'),
      change: {
        set: {
          status: outcome,
          ended_at: now,
          ended_gen: lease.generation,
          last: message?.id ?? textAt(header, 'head'),
          ...endText,
        },
        add: counters,
      },
    },
    { update: detailsKey(lease), when: present('pk'), change: foldTotals(lease, counters) },
    ...(message === undefined ? [] : [putMessage(lease, message, messageTexts), ...putNumbers(lease, message)]),
    ...(end.context === undefined ? [] : [await putContext(rows, lease, end.context)]),
    ...(await closeRows(rows, lease, calls, (call) => callAtEnd(call, now))),
    ...renewExpiry(lease, header, now),
  ]
}

/**
 * Returns the change that adds the run's counters to the session's totals. `folded` names the last added run. This name
 * prevents a double count by readers that still see the run as active in the header.
 */
const foldTotals = (lease: Lease, counters: Readonly<Record<string, number>>): Change => ({
  set: { folded: lease.runId },
  add: counters,
})

/**
 * Requires that the log has not grown since it was read. A delayed write of this holder may have appended calls, and
 * these calls would never end.
 */
function endCondition(lease: Lease, { outcome }: RunEnd, header: Item): Condition {
  const queue = isQueued(header) ? above('queued', 0) : is('queued', 0)
  const conditions = [mine(lease), queue, headIs(textAt(header, 'head'))]
  if (outcome !== 'cancelled') conditions.push(notCancelled)
  return all(...conditions)
}

/**
 * If the last activity follows the latest message within this time, lists use the message's time for both. One list
 * entry then serves both sort orders.
 */
const SAME_ACTIVITY_MS = 2_000

/** Returns the list changes at a run's end. The status changes only if no later run was accepted. */
function listAtEnd(header: Item, { message, outcome }: RunEnd, now: number): HeaderWrite {
  const latest = lastMessageAt(header, [message])
  const isSame = latest !== undefined && latest <= now && now - latest <= SAME_ACTIVITY_MS
  const isLatest = ['running', 'paused'].includes(textAt(header, 'listed') ?? '')
  return relist(header, {
    updatedAt: activeAt(header, isSame ? latest : now),
    lastMessageAt: latest,
    ...(isLatest ? { runStatus: outcome } : {}),
  })
}

/** Returns the header's change at a run's end. It makes the session due if, and only if, inputs are queued. */
function headerAtEnd(lease: Lease, { message }: RunEnd, header: Item, now: number): Change {
  const queued = isQueued(header)
  return together(released(lease), countMessages(message === undefined ? [] : [message]), {
    set: {
      waiting: 0,
      paused: false,
      rounds: 0,
      ...(message === undefined ? {} : { head: message.id }),
      ...(queued ? { due: now } : {}),
    },
    remove: [...['active_run', 'cancel_run', 'cancel_reason'], ...(queued ? [] : ['due']), ...counterNames(header)],
  })
}

/** Returns the end that this holder has already stored. Throws `LeaseLost` if this holder has not stored it. */
async function endedBefore(
  rows: SessionRows,
  lease: Lease,
  { message, outcome }: RunEnd,
  { header, run }: { header: Item | undefined; run: Item },
): Promise<Ended> {
  const { table, bodies } = rows
  const isMine = runStatusOf(run) === outcome && numberAt(run, 'ended_gen') === lease.generation
  if (!isLive(header) || !isMine) throw new LeaseLost(lease.session, lease.generation)
  if (message !== undefined) {
    const item = await table.read(messageKey(lease, message.id))
    if (item === undefined || !isSame(await messageOf(bodies, lease, item), message))
      throw new LeaseLost(lease.session, lease.generation)
  }
  const ended = await runOf(bodies, lease, run, undefined)
  const closedItems = (await rowsOfRun(rows, lease, run)).filter((item) =>
    CLOSED_AT_END.some((status) => status === textAt(item, 'status')),
  )
  const calls = await Promise.all(closedItems.map((item) => toolMessageOf(bodies, lease, item)))
  const closed = calls.filter(({ completedAt }) => completedAt === ended.endedAt)
  return { run: ended, closed, queued: isQueued(header) }
}
