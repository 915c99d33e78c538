import { TooltrailError } from '../../../domain/errors.ts'
import { STATUS_TEXT, type ToolMessage } from '../../../domain/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Resolution, Resolved } from '../../../ports/run-inbox.ts'
import { numberAt, textAt, type Item } from '../attributes.ts'
import { above, all, is, together, type Change, type Condition } from '../expressions.ts'
import { live, liveHeader, notCancelled, woken } from './header-item.ts'
import { headerKey, messageKey } from '../keys.ts'
import { changeMessage, documentsOfResult, textOfResult, toolMessageOf } from './message-item.ts'
import { runIdOf } from './run-item.ts'
import { readResolvedRun, rowsOfRun, type SessionRows } from './session-rows.ts'

/** Answers of one atomic write, which takes 100 items; a round has 64 calls at most. */
const RESOLUTIONS_AT_ONCE = 95

/**
 * Stores answers of people and clients to waiting calls, all or nothing; the last one makes the session due. Answers undefined
 * when the session changed meanwhile: look again.
 */
export async function resolveCalls(
  rows: SessionRows,
  key: SessionKey,
  runId: string,
  resolutions: readonly Resolution[],
): Promise<Resolved | undefined> {
  const { table, clock } = rows
  const header = liveHeader(await table.read(headerKey(key)), key)
  const run = await readResolvedRun(rows, key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  const id = runIdOf(run)
  const calls = await callsOf(rows, key, run)
  const now = clock.now()
  const resolved = new Map<string, ToolMessage>()
  for (const resolution of resolutions) {
    const current = calls.map((call) => resolved.get(call.id) ?? call)
    const call = resolvedCall(header, id, current, resolution, now)
    if (call !== undefined) resolved.set(call.id, call)
  }
  const waiting = (numberAt(header, 'waiting') ?? 0) - resolved.size
  const isActive = textAt(header, 'active_run') === id
  if (resolved.size === 0) return { stored: 0, complete: !isActive || waiting === 0 }
  if (resolved.size > RESOLUTIONS_AT_ONCE)
    throw new TooltrailError('storage_failed', `at most ${RESOLUTIONS_AT_ONCE} answers can be stored at once`)
  const refusal = await writeResolutions(rows, key, id, [...resolved.values()], { waiting, now })
  return refusal === undefined ? { stored: resolved.size, complete: waiting === 0 } : undefined
}

async function callsOf(rows: SessionRows, key: SessionKey, run: Item): Promise<ToolMessage[]> {
  const items = (await rowsOfRun(rows, key, run)).filter((item) => textAt(item, 'role') === 'tool')
  return Promise.all(items.map((item) => toolMessageOf(rows.bodies, key, item)))
}

async function writeResolutions(
  { table, bodies }: SessionRows,
  key: SessionKey,
  runId: string,
  calls: readonly ToolMessage[],
  { waiting, now }: { waiting: number; now: number },
): ReturnType<SessionRows['table']['write']> {
  const closed = calls.filter(({ status }) => status !== 'approved')
  const stored = await bodies.store(
    key,
    closed.map((call) => textOfResult(call.id, call)),
  )
  const texts = new Map(closed.map(({ id }, place) => [id, stored[place]]))
  // The last answer wakes the session, and expressions cannot branch: so the number of those left is decided here and checked.
  const isLast: Condition = waiting === 0 ? is('waiting', calls.length) : above('waiting', calls.length)
  const change: Change = { add: { waiting: -calls.length } }
  return table.write([
    {
      update: headerKey(key),
      when: all(live, is('active_run', runId), notCancelled, isLast),
      change: waiting === 0 ? together(change, woken(now)) : change,
    },
    ...calls.map((call) => ({
      update: messageKey(key, call.id),
      when: is('status', 'waiting'),
      change: changeMessage({
        set: { status: call.status, answer_hash: call.resolutionHash, ...texts.get(call.id) },
        add: { documents: documentsOfResult(call) },
      }),
    })),
  ])
}

/** The answered call; undefined when the same answer was stored before. */
function resolvedCall(
  header: Item,
  runId: string,
  calls: readonly ToolMessage[],
  resolution: Resolution,
  now: number,
): ToolMessage | undefined {
  const { messageId } = resolution
  const named = calls
    .filter(({ id, toolCallId }) => toolCallId === resolution.toolCallId && (messageId ?? id) === id)
    .toReversed()
  const call = named.find(({ status }) => status === 'waiting') ?? named[0]
  if (call === undefined)
    throw new TooltrailError('call_not_found', `run ${runId} has no call ${resolution.toolCallId}`)
  if (call.status !== 'waiting') {
    if (named.some(({ resolutionHash }) => resolutionHash === resolution.hash)) return undefined
    throw conflict(`call ${resolution.toolCallId} is ${call.status} and was not answered like this`)
  }
  const needs = resolution.kind === 'approval' ? 'approval' : 'result'
  if (call.needs !== needs) throw conflict(`call ${resolution.toolCallId} waits for ${call.needs}, not for ${needs}`)
  if (textAt(header, 'active_run') !== runId || textAt(header, 'cancel_run') !== undefined)
    throw conflict(`run ${runId} is being cancelled, call ${resolution.toolCallId} takes no answer any more`)
  return withFinalMessage(call, resolution, now)
}

function withFinalMessage(call: ToolMessage, resolution: Resolution, now: number): ToolMessage {
  const resolved = { ...call, resolutionHash: resolution.hash }
  if (resolution.kind === 'approval') {
    if (resolution.approved) return { ...resolved, status: 'approved' }
    return { ...resolved, status: 'denied', parts: [{ type: 'text', text: STATUS_TEXT.denied }], completedAt: now }
  }
  const output = resolution.output === undefined ? {} : { output: resolution.output }
  return { ...resolved, status: resolution.status, parts: resolution.parts, completedAt: now, ...output }
}

const conflict = (message: string): TooltrailError => new TooltrailError('answer_conflict', message)
