import { LeaseLost, TooltrailError } from '../../../domain/errors.ts'
import type { AssistantMessage, ToolMessage } from '../../../domain/message.ts'
import type { Run } from '../../../domain/run.ts'
import { callAtEnd } from '../../../domain/run-changes.ts'
import type { Lease } from '../../../domain/session.ts'
import type { RunEnd, RunLog } from '../../../ports/run-log.ts'
import { numberAt, textAt, type Item } from '../attributes.ts'
import type { TextFields } from './bodies.ts'
import { above, all, is, present, together, type Change, type Condition } from '../expressions.ts'
import { renewExpiry } from './expiry.ts'
import { active, headIs, heldHeader, isHeld, isLive, mine, notCancelled, released } from './header-item.ts'
import { detailsKey, headerKey, messageKey, runKey } from '../keys.ts'
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
} from './message-item.ts'
import { runOf, runStatusOf, textOfEnd } from './run-item.ts'
import { openCalls, rowsOfRun, type SessionRows } from './session-rows.ts'
import type { Action } from '../table.ts'
import { counted, counterNames, joinUsages, sumOf } from './usage-counters.ts'

type Ended = NonNullable<Awaited<ReturnType<RunLog['endRun']>>>

/** Each attempt fails only when a client has written to this very session meanwhile. */
const ATTEMPTS = 16

/** The run and its session, both read strongly, of a holder. */
async function readHeld({ table }: SessionRows, lease: Lease): Promise<{ header: Item | undefined; run: Item }> {
  const [header, run] = await table.readMany([headerKey(lease), runKey(lease, lease.runId)])
  if (run === undefined) throw new LeaseLost(lease.session, lease.generation)
  return { header, run }
}

/** Releases the lease with the run paused, as long as a call waits and no cancel has come in. */
export async function pause(rows: SessionRows, lease: Lease): Promise<Run | undefined> {
  const { table, bodies, clock } = rows
  const read = await readHeld(rows, lease)
  const header = heldHeader(read.header, lease)
  if ((numberAt(header, 'waiting') ?? 0) === 0 || textAt(header, 'cancel_run') !== undefined) return undefined
  const run = await runOf(bodies, lease, read.run, header)
  const refusal = await table.write([
    {
      update: headerKey(lease),
      when: all(mine(lease), above('waiting', 0), notCancelled),
      change: together(released(lease), { set: { gen: lease.generation + 1, paused: true }, remove: ['due'] }),
    },
    { update: runKey(lease, lease.runId), when: is('status', 'running'), change: { set: { status: 'paused' } } },
    ...renewExpiry(lease, header, clock.now()),
  ])
  if (refusal === undefined) return { ...run, status: 'paused' }
  if (refusal[0] !== undefined && isHeld(refusal[0].item, lease)) return undefined
  throw new LeaseLost(lease.session, lease.generation)
}

/** Ends the run with its last message and whatever calls are open, and gives the lease back. */
export async function endRun(rows: SessionRows, lease: Lease, end: RunEnd): Promise<Ended | undefined> {
  const { bodies, clock } = rows
  const now = clock.now()
  const texts = await bodies.store(lease, [
    textOfEnd(lease.runId, end),
    ...(end.message === undefined ? [] : textsOfMessage(end.message)),
  ])
  const closed = new Map<string, ToolMessage>()
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { header, run } = await readHeld(rows, lease)
    if (!isHeld(header, lease)) return endedBefore(rows, lease, end, { header, run })
    if (textAt(header, 'cancel_run') !== undefined && end.outcome !== 'cancelled') return undefined
    requireGreater(end.message, header)
    const open = await openCalls(rows, lease, header)
    const batch = batchOf(open)
    const isLast = batch.length === open.length
    const calls = batch.map((call) => callAtEnd(call, now))
    const actions = isLast
      ? await endActions(rows, lease, end, { header, run, texts, now, calls: batch })
      : await closeActions(rows, lease, batch, now)
    if ((await rows.table.write(actions)) !== undefined) continue
    for (const call of calls) closed.set(call.id, call)
    if (isLast) return endedRun(rows, lease, end, { header, run, now, closed: [...closed.values()] })
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

const CLOSED_AT_END: readonly (string | undefined)[] = ['cancelled', 'interrupted']

/** Closes calls; each only as it was read, for a client may answer one that waits at this very moment. */
async function closeRows(
  { bodies }: SessionRows,
  lease: Lease,
  calls: readonly ToolMessage[],
  now: number,
): Promise<Action[]> {
  const closed = calls.map((call) => callAtEnd(call, now))
  const texts = await bodies.store(
    lease,
    closed.map((call) => textOfResult(call.id, call)),
  )
  return calls.map(({ id, status, generation }, place) => ({
    update: messageKey(lease, id),
    when: isCall(status, generation),
    change: changeMessage({
      set: { status: closed[place]?.status ?? 'cancelled', ...texts[place] },
      add: { documents: documentsOfResult({ parts: closed[place]?.parts ?? [] }) },
    }),
  }))
}

const waitingIn = (calls: readonly ToolMessage[]): number => calls.filter(({ status }) => status === 'waiting').length

/** More calls than one write takes: some are closed before, and the run is ended by a later write. */
async function closeActions(
  rows: SessionRows,
  lease: Lease,
  calls: readonly ToolMessage[],
  now: number,
): Promise<Action[]> {
  const change = { add: { waiting: -waitingIn(calls) } }
  return [{ update: headerKey(lease), when: mine(lease), change }, ...(await closeRows(rows, lease, calls, now))]
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
  return [
    { update: headerKey(lease), when: endCondition(lease, end, header), change: headerAtEnd(lease, end, header, now) },
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
          ...counters,
        },
      },
    },
    { update: detailsKey(lease), when: present('pk'), change: foldTotals(lease, counters) },
    ...(message === undefined ? [] : [putMessage(lease, message, messageTexts)]),
    ...(await closeRows(rows, lease, calls, now)),
    ...renewExpiry(lease, header, now),
  ]
}

/** Rounds and tokens of the whole run, which its header has counted, with its last answer. */
function countersAtEnd(header: Item, { message }: RunEnd): Record<string, number> {
  const added = message === undefined ? {} : counted(message.agent, message.usage)
  const sums: Record<string, number> = { rounds: numberAt(header, 'rounds') ?? 0 }
  for (const name of counterNames(header)) sums[name] = numberAt(header, name) ?? 0
  for (const [name, count] of Object.entries(added)) sums[name] = (sums[name] ?? 0) + count
  if (message !== undefined && message.parentToolCallId === undefined) sums['rounds'] = (sums['rounds'] ?? 0) + 1
  return sums
}

/** The session's totals, once for each run: `folded` names the last, for whoever reads both items at different moments. */
const foldTotals = (lease: Lease, counters: Readonly<Record<string, number>>): Change => ({
  set: { folded: lease.runId },
  add: counters,
})

/**
 * The head is the one that was read: a write of this holder's own that lands late, between the read and this write, may have
 * appended calls that would never end.
 */
function endCondition(lease: Lease, { outcome }: RunEnd, header: Item): Condition {
  const queue = (numberAt(header, 'queued') ?? 0) > 0 ? above('queued', 0) : is('queued', 0)
  const conditions = [mine(lease), queue, headIs(textAt(header, 'head'))]
  if (outcome !== 'cancelled') conditions.push(notCancelled)
  return all(...conditions)
}

/** The session is due exactly when inputs are queued. */
function headerAtEnd(lease: Lease, { message }: RunEnd, header: Item, now: number): Change {
  const isQueued = (numberAt(header, 'queued') ?? 0) > 0
  return together(released(lease), active(header, now), {
    set: {
      waiting: 0,
      paused: false,
      rounds: 0,
      ...(message === undefined ? {} : { head: message.id }),
      ...(isQueued ? { due: now } : {}),
    },
    remove: [...['active_run', 'cancel_run', 'cancel_reason'], ...(isQueued ? [] : ['due']), ...counterNames(header)],
  })
}

async function endedRun(
  { bodies }: SessionRows,
  lease: Lease,
  { message, outcome, stopReason, error }: RunEnd,
  { header, run, now, closed }: { header: Item; run: Item; now: number; closed: readonly ToolMessage[] },
): Promise<Ended> {
  const before = await runOf(bodies, lease, run, header)
  const result = message === undefined ? {} : { [message.agent]: message.usage ?? sumOf({}) }
  const usageByAgent = joinUsages(before.usageByAgent, result)
  const ended: Run = {
    ...before,
    ...(error === undefined ? {} : { error }),
    status: outcome,
    stopReason,
    endedAt: now,
    rounds: before.rounds + (message !== undefined && message.parentToolCallId === undefined ? 1 : 0),
    usage: sumOf(usageByAgent),
    usageByAgent,
  }
  return { run: ended, closed, queued: (numberAt(header, 'queued') ?? 0) > 0 }
}

/** The same end, when this holder stored it before; throws `LeaseLost` otherwise. */
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
    CLOSED_AT_END.includes(textAt(item, 'status')),
  )
  const calls = await Promise.all(closedItems.map((item) => toolMessageOf(bodies, lease, item)))
  const closed = calls.filter(({ completedAt }) => completedAt === ended.endedAt)
  return { run: ended, closed, queued: (numberAt(header, 'queued') ?? 0) > 0 }
}
