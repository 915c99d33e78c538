import { isDeepStrictEqual } from 'node:util'
import { isLeaders, unrated } from '../../../functions/domain/messages/message.ts'
import { isDelegation } from '../../../functions/domain/runs/team.ts'
import type { Message, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import type { Run, RunStatus } from '../../../functions/domain/runs/run.ts'
import { isBlocked, isFree } from '../../../functions/domain/session.ts'
import type { SessionHeader } from '../../../functions/domain/session.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Act } from './processes.ts'
import { checkDelegation } from './delegations.ts'
import { hasWork, must, Violation } from './harness.ts'
import type { Ghosts, Harness } from './harness.ts'

const RUN_STEPS: { readonly [status in RunStatus]: readonly RunStatus[] } = {
  queued: ['running', 'cancelled', 'merged'],
  running: ['paused', 'completed', 'failed', 'cancelled'],
  paused: ['running'],
  completed: [],
  failed: [],
  cancelled: [],
  merged: [],
}
const CALL_STEPS: { readonly [status in ToolMessage['status']]: readonly ToolMessage['status'][] } = {
  running: ['running', 'completed', 'error', 'interrupted'],
  waiting: ['completed', 'error', 'denied', 'approved', 'cancelled'],
  approved: ['running', 'cancelled'],
  completed: [],
  error: [],
  interrupted: [],
  cancelled: [],
  denied: [],
}
/** Facts about a session's processes. The check of a step needs these facts. */
export interface Watched {
  readonly stores: { readonly clock: { now(): number } }
  /** The latest time shown by the clock, which may jump back between a write's start and its landing. */
  readonly latest?: number
  readonly ghosts: Pick<Ghosts, 'cancelled' | 'starts' | 'readGeneration' | 'disturbed' | 'disowned'>
}
/** Maximum delay of a due time by a sweep: 10 s until the hint is repeated, and the difference between clocks. */
const POSTPONED_MS = 15_000
/** Writes whose only condition is the row of a call. They may land until the next holder has claimed that row. */
const BY_ROW: readonly string[] = ['complete', 'claim']

const callsIn = (messages: readonly Message[]): ToolMessage[] => messages.filter((row) => row.role === 'tool')

/** Throws a `Violation` when the step from `before` to `after`, done by `act`, breaks a promise of the protocol. */
export function checkStep(harness: Watched, before: Snapshot, after: Snapshot, act: Act | undefined): void {
  const [from, to] = [before.header, after.header]
  if (from === undefined || to === undefined) throw new Violation('the session has no header')
  must('the generation never falls', to.generation >= from.generation)
  if (from.status === 'deleted') {
    checkDeleted(from, to, after)
    return
  }
  if (to.status === 'deleted') {
    must('nothing is read of a deleted session', after.messages.length + after.runs.length === 0)
    must('a session is not deleted by expiry while it has work', act?.name !== 'expire' || from.due === undefined)
    return
  }
  checkLease(harness, from, to, act)
  checkFence(harness, before, after, act)
  checkMessages(harness, before, after)
  checkRuns(harness, before, after)
  checkCounters(harness, to, after)
  checkWakeUp(harness, to)
}

function checkDeleted(from: SessionHeader, to: SessionHeader, after: Snapshot): void {
  const { due: _due, ...was } = from
  const { due: _later, ...is } = to
  must('a deleted session stays as it is', isDeepStrictEqual(was, is))
  must('nothing is read of a deleted session', after.session === undefined && after.messages.length === 0)
}

function checkLease(harness: Watched, from: SessionHeader, to: SessionHeader, act: Act | undefined): void {
  const sameGeneration = from.generation === to.generation
  const given = to.lease !== undefined && to.lease.owner !== from.lease?.owner
  must(
    'a lease that has not ended is not taken',
    !given || isFree(from, Math.max(harness.stores.clock.now(), harness.latest ?? 0)),
  )
  must(
    'a lease is acquired and released only with a new generation',
    !sameGeneration || from.lease?.owner === to.lease?.owner,
  )
  if (sameGeneration && from.lease !== undefined && to.lease !== undefined && act?.name !== 'lease.expireLeases')
    must('the end of a lease never moves back', to.lease.until >= from.lease.until)
  must(
    'a cancel is not forgotten',
    from.cancel === undefined || to.cancel !== undefined || to.activeRun !== from.activeRun,
  )
  must('the last accepted run never falls', (to.tail ?? '') >= (from.tail ?? ''))
}

/** Checks that no process writes under a lease that the session no longer has. */
function checkFence(harness: Watched, before: Snapshot, after: Snapshot, act: Act | undefined): void {
  if (act?.generation === undefined || isDeepStrictEqual(before, after)) return
  const current = before.header?.generation ?? 0
  if (act.generation === current) return
  const read = harness.ghosts.readGeneration
  const what = `${act.name} of generation ${act.generation} changed generation ${current}`
  if (act.name === 'start' || act.name === 'take')
    throw new Violation('a lease is granted on the header that was seen', what)
  if (!BY_ROW.includes(act.name)) throw new Violation('a former holder writes nothing', what)
  must('a former holder writes nothing after the new one has read', read < current, what)
}

function checkMessages(harness: Watched, before: Snapshot, after: Snapshot): void {
  for (const [place, was] of before.messages.entries()) {
    const is = after.messages[place]
    if (is === undefined || is.id !== was.id) throw new Violation('a message is never removed or moved', was.id)
    if (!isDeepStrictEqual(unrated(was), unrated(is))) checkCall(harness, { before, after }, was, is)
  }
  const all = after.messages
  for (const [place, message] of all.entries()) {
    const previous = all[place - 1]
    must('message ids ascend', previous === undefined || message.id > previous.id, message.id)
    if (message.role !== 'tool') continue
    must(
      'nothing stands inside a round',
      previous?.id === message.assistantMessageId ||
        (previous?.role === 'tool' && previous.assistantMessageId === message.assistantMessageId),
      message.id,
    )
  }
  must('the head is the last message', after.header?.head === all.at(-1)?.id)
  for (const run of after.runs) {
    const completions = all.filter((message) => message.runId === run.id && message.role === 'assistant')
    for (const rounds of Map.groupBy(completions, ({ parentMessageId }) => parentMessageId).values())
      must(
        'rounds count from 0 without a gap',
        rounds.every(
          ({ round }, number) => round === number || (harness.ghosts.disowned === true && round === number - 1),
        ),
        run.id,
      )
    must('a run counts its rounds', run.rounds === completions.filter(isLeaders).length, run.id)
  }
}

function checkCall(
  harness: Watched,
  { before: { header }, after: { runs } }: { readonly before: Snapshot; readonly after: Snapshot },
  was: Message,
  is: Message,
): void {
  if (was.role !== 'tool' || is.role !== 'tool') throw new Violation('a message is never rewritten', was.id)
  // If the run ends before its member, the member's messages stay in the log and its delegate call is cancelled.
  const isLeft = was.status === 'running' && is.status === 'cancelled' && isDelegation(was)
  const isStep = isLeft || CALL_STEPS[was.status].includes(is.status)
  must('an ended call never changes', isStep, `${was.status} to ${is.status}`)
  must('a delegate call is not interrupted', !isDelegation(is) || is.status !== 'interrupted', is.id)
  const resolved = was.status === 'waiting' && is.status !== 'cancelled'
  must('a run that is being cancelled takes no resolution', !resolved || header?.cancel === undefined)
  must('a call goes to newer holders only', is.generation >= was.generation, is.id)
  const hasEnded = runs.some(({ id, status }) => id === is.runId && (status === 'cancelled' || status === 'failed'))
  must(
    'a call is interrupted only when something went wrong, or its run was ended under it',
    is.status !== 'interrupted' || was.status === 'interrupted' || harness.ghosts.disturbed || hasEnded,
    is.toolName,
  )
}

function checkRuns(harness: Watched, before: Snapshot, after: Snapshot): void {
  const known = new Map(before.runs.map((run) => [run.id, run]))
  for (const run of after.runs) {
    const was = known.get(run.id)
    known.delete(run.id)
    if (was === undefined) checkAccepted(before, after, run)
    else if (was.status !== run.status) checkRunStep(harness, before, after, was, run)
    // The next step of an import may continue a run that was imported before.
    else if (isEnded(run.status) && run.stopReason !== 'imported')
      must('an ended run never changes', isDeepStrictEqual(was, run), run.id)
  }
  must('a run is never removed', known.size === 0)
  const active = after.runs.filter((run) => run.status === 'running' || run.status === 'paused')
  must(
    'at most one run is active, and the header names it',
    active.length <= 1 && active[0]?.id === after.header?.activeRun,
  )
  must('the header knows a pause', after.header?.paused === (active[0]?.status === 'paused'))
  const order = after.messages.filter((message, place) => message.runId !== after.messages[place - 1]?.runId)
  must(
    'runs follow one another, as accepted',
    order.every((one, n) => n === 0 || one.runId > (order[n - 1]?.runId ?? '')),
  )
}

function checkAccepted({ header, runs }: Snapshot, after: Snapshot, run: Run): void {
  const blocked = header !== undefined && isBlocked(header)
  must('an input during a pause supersedes the run that waits', !blocked || after.header?.cancel !== undefined)
  must(
    'run ids ascend in the order of acceptance',
    run.id > (header?.tail ?? '') && runs.every((one) => one.id < run.id),
  )
}

function checkRunStep(harness: Watched, before: Snapshot, after: Snapshot, was: Run, run: Run): void {
  const step = `${was.status} to ${run.status}`
  must('a run takes the steps of the protocol', RUN_STEPS[was.status].includes(run.status), step)
  const { header } = before
  if (was.status === 'queued' && run.status === 'running')
    must(
      'runs start in the order of acceptance',
      before.runs.every((one) => one.status !== 'queued' || one.id >= run.id),
    )
  if (was.status === 'paused')
    must('a run is resumed when nothing waits or for its cancel', header?.waiting === 0 || header?.cancel !== undefined)
  if (run.status === 'paused')
    must(
      'a run pauses only for calls that wait, and not when cancelled',
      (after.header?.waiting ?? 0) > 0 && header?.cancel === undefined,
    )
  // A stored cancel counts, even before its client has received the response.
  const isCancelled = header?.cancel !== undefined || harness.ghosts.cancelled.has(run.id)
  if (run.status === 'completed' || run.status === 'failed')
    must('an acknowledged cancel ends cancelled', !isCancelled, step)
  if (isEnded(run.status) && was.status === 'running')
    must(
      'an end leaves the session due exactly when inputs are queued',
      (after.header?.due !== undefined) === (after.header?.queued !== 0),
    )
  if (run.status === 'completed') {
    const open = callsIn(before.messages).filter((row) => row.runId === run.id && CALL_STEPS[row.status].length > 0)
    must('a run is not completed with open calls', open.length === 0, open[0]?.toolName)
  }
}

function checkCounters(harness: Watched, header: SessionHeader, { messages, runs, session }: Snapshot): void {
  const queued = runs.filter((run) => run.status === 'queued').length
  must('queued counts the queued runs', header.queued === queued, `${header.queued}, not ${queued}`)
  const waiting = callsIn(messages).filter((row) => row.status === 'waiting').length
  must('waiting counts the waiting calls', header.waiting === waiting, `${header.waiting}, not ${waiting}`)
  // Imported runs were executed elsewhere and are not counted.
  const started = runs.filter((run) => run.startedAt !== undefined && run.stopReason !== 'imported').length
  must('totals count the runs', session?.totals.runs === started)
  must(
    'totals count the rounds',
    session?.totals.rounds ===
      messages.filter((one) => one.role === 'assistant' && isLeaders(one) && one.recordedAt === undefined).length,
  )
  for (const [id, count] of harness.ghosts.starts) {
    const call = callsIn(messages).find((row) => row.id === id)
    must('no call starts twice unless it may', count < 2 || call?.toolName === 'idempotent', call?.toolName)
  }
}

/** Checks the due time. A session with work and without a holder is due, and a lease becomes due soon after its end. */
function checkWakeUp(harness: Watched, header: SessionHeader): void {
  const { lease, due } = header
  if (isBlocked(header) || !hasWork(header)) return
  if (isFree(header, harness.stores.clock.now())) must('work without a holder is due', due !== undefined)
  else
    must('a lease is looked after soon after it ends', due !== undefined && due <= (lease?.until ?? 0) + POSTPONED_MS)
}

/** Throws a `Violation` if work remains after every process had enough steps to finish. */
export function checkEnd(harness: Harness, { header, runs, messages }: Snapshot): void {
  must('every accepted input ends', header?.activeRun === undefined && header?.queued === 0 && header.waiting === 0)
  must('nothing is due when nothing is left to do', header?.due === undefined && header?.lease === undefined)
  for (const [input, runId] of harness.ghosts.accepted) {
    const run = runs.find((one) => one.id === runId)
    const target = run?.mergedInto === undefined ? run : runs.find((one) => one.id === run.mergedInto)
    must('every accepted input ends', target !== undefined && isEnded(target.status), `input ${input}`)
  }
  for (const runId of harness.ghosts.cancelled)
    must('an acknowledged cancel ends cancelled', runs.find((one) => one.id === runId)?.status === 'cancelled', runId)
  for (const { input, after } of harness.ghosts.sent) {
    const id = harness.ghosts.accepted.get(input)
    must(
      'an input runs after those acknowledged before it was sent',
      id === undefined || after.every((one) => one < id),
    )
  }
  must(
    'every call ends',
    callsIn(messages).every((row) => CALL_STEPS[row.status].length === 0),
  )
  for (const row of callsIn(messages)) if (isDelegation(row)) checkDelegation(row, messages)
}

/** Throws a `Violation` if a finished deletion has left rows or has counted wrongly. */
export async function checkGone(harness: Harness): Promise<void> {
  const { deletion, reader, sessions } = harness.stores
  const { messages, runs } = harness.lastLive
  const state = await deletion.state(harness.key)
  must('a deletion goes on until all is removed', state?.removed === true && harness.seen.header?.due === undefined)
  must('a deletion counts what was there', state?.messages === messages.length && state.runs === runs.length)
  const left = await deletion.removeRows(harness.key, 1000)
  must('nothing comes back after a deletion', !left.more && isDeepStrictEqual(await deletion.state(harness.key), state))
  must('nothing is read of a deleted session', (await sessions.read(harness.key)) === undefined)
  for (const run of runs)
    must('nothing is read of a deleted session', (await reader.run(harness.key, run.id)) === undefined)
}
