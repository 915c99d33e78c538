import { isEnded } from '../../functions/domain/runs/run.ts'
import { isBlocked } from '../../functions/domain/session.ts'
import type { ToolMessage } from '../../functions/domain/messages/message.ts'
import { OPEN_STATUSES, textOf } from '../../functions/domain/messages/message.ts'
import { isDelegation } from '../../functions/domain/runs/team.ts'
import { checkDelegation } from '../../test/contracts/schedules/delegations.ts'
import type { SessionPorts } from '../../test/contracts/stores.ts'
import type { Effects } from './model.ts'
import { checkSummary } from './actors/conversation.ts'
import { checkFollowers, checkLive } from './actors/followers.ts'
import { checkForks, checkOutside } from './actors/outside.ts'
import { EXPIRY_MS } from './left.ts'
import { CLOCKS_MS } from './actors/sessions.ts'
import { rowToken } from './actors/tools.ts'
import type { Sessions, Watch } from './actors/sessions.ts'
import type { MemoryOutputs } from './world/outputs.ts'
import { checkUsage } from './actors/usage.ts'
import { must } from './harness.ts'

/**
 * Maximum time by which the clock of a process is ahead of the simulation's clock. The process stores the time of a
 * result by its own clock.
 */
const NEAR_MS = 10_000

/**
 * Returns the reason why a session is not at rest; undefined if it is. A session is at rest if nothing runs or is
 * pending, except calls that wait for a person.
 */
export function unrest({ seen: { header }, key, expires, activeAt }: Watch, now: number): string | undefined {
  if (header === undefined) return undefined
  if (header.status === 'live' && header.due === undefined && expires && now - activeAt > EXPIRY_MS + CLOCKS_MS)
    return `${key.session} has expired and is still there`
  if (header.status === 'deleted') return header.due === undefined ? undefined : `${key.session} is still being deleted`
  if (isBlocked(header)) return header.lease === undefined ? undefined : `${key.session} waits and is held`
  if (header.activeRun !== undefined) return `${key.session} runs ${header.activeRun}`
  if (header.queued > 0) return `${key.session} has ${header.queued} queued`
  return header.due === undefined ? undefined : `${key.session} is due without work`
}

interface Parts {
  readonly ports: SessionPorts
  readonly outputs: MemoryOutputs
  readonly effects: Effects
  readonly sessions: Sessions
  /** Whether days have passed. Idempotency keys are then forgotten, so a repeated request is accepted once more. */
  readonly slept: boolean
  /** Whether only models and tools have had faults, and no process. */
  readonly isGentle: boolean
}

/**
 * Throws a `Violation` if the log lacks something that clients have received, or contains something that did not
 * happen.
 */
export async function checkRest(parts: Parts): Promise<void> {
  for (const watch of parts.sessions.all) {
    await checkForks(parts, watch)
    if (watch.seen.header?.status === 'deleted') await checkGone(parts, watch)
    else {
      must('a deletion that was acknowledged is done', !watch.deleted, watch.key.session)
      checkAccepted(watch, parts.slept)
      checkCalls(parts, watch)
      checkOutside(watch, parts.slept)
      await checkUsage(parts.ports, watch)
      await checkFollowers(parts.ports, watch)
      if (parts.isGentle) await checkLive(parts.ports, watch)
      if (!parts.slept) checkSummary(watch)
    }
  }
}

function checkAccepted({ seen, accepted, cancelled, key }: Watch, slept: boolean): void {
  for (const { runId, input } of accepted) {
    const run = seen.runs.find((one) => one.id === runId)
    must('what was acknowledged is in the log', run !== undefined, `${input ?? 'continue'} of ${key.session}`)
    if (input === undefined || run === undefined) continue
    const said = seen.messages.filter((one) => one.role === 'user' && textOf(one.parts).includes(`"${input}"`))
    const isDropped = run.status === 'cancelled' && run.startedAt === undefined
    const expected = isDropped || run.status === 'queued' ? 0 : 1
    must('an input is said once', slept ? said.length >= expected : said.length === expected, input)
  }
  for (const runId of cancelled.keys())
    must('an acknowledged cancel ends cancelled', seen.runs.find((one) => one.id === runId)?.status === 'cancelled')
  for (const run of seen.runs)
    must(
      'every run ends or waits',
      isEnded(run.status) || ['merged', 'paused', 'queued'].includes(run.status),
      run.status,
    )
}

function checkCalls({ effects }: Parts, { seen, decided }: Watch): void {
  for (const row of seen.messages) {
    // Imported calls are skipped, because they were executed elsewhere.
    if (row.role !== 'tool' || row.recordedAt !== undefined) continue
    const run = seen.runs.find(({ id }) => id === row.runId)
    const isOver = run === undefined || isEnded(run.status)
    must('a run ends with its calls', !isOver || !OPEN_STATUSES.includes(row.status), `${row.id} is ${row.status}`)
    if (isDelegation(row)) {
      must('a delegate call is not interrupted', row.status !== 'interrupted', row.id)
      checkDelegation(row, seen.messages)
      continue
    }
    const token = rowToken(seen, row)
    const began = effects.began.get(token) ?? 0
    if ((effects.ended.get(token) ?? Infinity) < (row.completedAt ?? 0) - NEAR_MS)
      must('the log does not say of a call that ran that it did not', !deniesIt(row), `${token}: ${row.status}`)
    if (began > 0)
      must('the log does not say of a call that began that it did not', !deniesIt(row), `${token}: ${row.status}`)
    if (row.status === 'completed' && row.needs !== 'result') must('what is completed has run', began > 0, token)
    for (const decision of decided) if (decision.token === token) checkDecision(row, decision, began)
  }
}

/** Whether the row says that its call had no effect. */
const deniesIt = (row: ToolMessage): boolean => row.status === 'cancelled' || row.status === 'denied'

function checkDecision(
  row: ToolMessage,
  { token, allow, acknowledged }: Watch['decided'][number],
  began: number,
): void {
  if (row.needs === 'result' && row.status === 'completed')
    must('a result is that of its call', textOf(row.parts) === `result of ${token}`, token)
  if (!acknowledged) return
  must('an acknowledged decision is in the log', row.resolutionHash !== undefined, `${token}: ${row.status}`)
  if (row.needs === 'approval' && !allow) must('what a person refused does not run', began === 0, token)
}

async function checkGone({ ports, outputs }: Parts, { key }: Watch): Promise<void> {
  const rule = 'nothing of a deleted session comes back'
  const state = await ports.deletion.state(key)
  must(rule, state?.removed === true, 'it is not removed')
  must(rule, !(await ports.deletion.removeRows(key, 1_000)).more, 'rows are left')
  must(rule, (await ports.deletion.state(key))?.messages === state?.messages, 'messages were left')
  must(rule, outputs.names(key).length === 0, 'objects are left')
}
