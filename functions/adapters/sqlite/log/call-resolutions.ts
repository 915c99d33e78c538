import { TooltrailError } from '../../../domain/errors.ts'
import { STATUS_TEXT, type ToolMessage } from '../../../domain/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Resolution, Resolved } from '../../../ports/run-inbox.ts'
import type { Database } from '../database.ts'
import { writeLog, type LogDependencies } from './write.ts'
import { callsOfId, updateToolMessage } from './message-rows.ts'
import { resolvedRun, type StoredRun } from './run-rows.ts'
import { woken } from './session-changes.ts'
import { liveSession, saveSession, type SessionRow } from './session-rows.ts'

/** Stores answers of people and clients to waiting calls, all or nothing; the last one makes the session due. */
export async function resolveCalls(
  dependencies: LogDependencies,
  key: SessionKey,
  runId: string,
  resolutions: readonly Resolution[],
): Promise<Resolved> {
  const { database, clock } = dependencies
  const now = clock.now()
  return writeLog(dependencies, () => {
    const row = liveSession(database, key)
    const stored = resolvedRun(database, row.number, runId)
    if (stored === undefined) throw new TooltrailError('run_not_found', `session ${row.session} has no run ${runId}`)
    const added = resolutions.filter((resolution) => storeCompletion(database, row, stored, resolution, now)).length
    const waiting = row.waiting - added
    const next = { ...row, waiting }
    saveSession(database, row, added > 0 && waiting === 0 ? woken(next, now) : next)
    return { stored: added, complete: row.activeRun !== stored.run.id || waiting === 0 }
  })
}

/** False when the same answer was stored before. */
function storeCompletion(
  database: Database,
  row: SessionRow,
  { number, run }: StoredRun,
  resolution: Resolution,
  now: number,
): boolean {
  const { messageId } = resolution
  const calls = callsOfId(database, number, resolution.toolCallId).filter(
    ({ id }) => messageId === undefined || id === messageId,
  )
  const call = calls.find(({ status }) => status === 'waiting') ?? calls[0]
  if (call === undefined)
    throw new TooltrailError('call_not_found', `run ${run.id} has no call ${resolution.toolCallId}`)
  if (call.status !== 'waiting') {
    if (calls.some(({ resolutionHash }) => resolutionHash === resolution.hash)) return false
    throw conflict(`call ${resolution.toolCallId} is ${call.status} and was not answered like this`)
  }
  const needs = resolution.kind === 'approval' ? 'approval' : 'result'
  if (call.needs !== needs) throw conflict(`call ${resolution.toolCallId} waits for ${call.needs}, not for ${needs}`)
  if (row.activeRun !== run.id || row.cancelRun !== null)
    throw conflict(`run ${run.id} is being cancelled, call ${resolution.toolCallId} takes no answer any more`)
  updateToolMessage(database, row.number, resolvedCall(call, resolution, now))
  return true
}

function resolvedCall(call: ToolMessage, resolution: Resolution, now: number): ToolMessage {
  const resolved = { ...call, resolutionHash: resolution.hash }
  if (resolution.kind === 'approval') {
    if (resolution.approved) return { ...resolved, status: 'approved' }
    return { ...resolved, status: 'denied', parts: [{ type: 'text', text: STATUS_TEXT.denied }], completedAt: now }
  }
  const output = resolution.output === undefined ? {} : { output: resolution.output }
  return { ...resolved, status: resolution.status, parts: resolution.parts, completedAt: now, ...output }
}

const conflict = (message: string): TooltrailError => new TooltrailError('answer_conflict', message)
