import { resolvedCalls, type Resolution } from '../../../../domain/runs/call-resolution.ts'
import type { NewestRequest } from '../../../../domain/runs/run-changes.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { ToolMessage } from '../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { Resolved } from '../../../../ports/run-inbox.ts'
import { numberAt, textAt, type Item } from '../../attributes.ts'
import { above, all, is, together, type Change, type Condition } from '../../expressions.ts'
import { live, liveHeader, notCancelled, woken } from '../sessions/header-item.ts'
import type { Text } from '../messages/bodies.ts'
import { headerKey, messageKey } from '../../keys.ts'
import {
  batchOf,
  changeMessage,
  documentsOfResult,
  jsonText,
  textOfResult,
  toolMessageOf,
} from '../messages/message-item.ts'
import { newestBody, putBody, runIdOf } from './run-item.ts'
import { readResolvedRun, rowsOfRun, type SessionRows } from '../sessions/session-rows.ts'

/**
 * Stores results and decisions for waiting calls. An atomic write stores all of them, if they fit one write; otherwise,
 * further writes follow. If no call waits any more, the session becomes due. Returns undefined if the session changed
 * between a read and its write: read again.
 */
export async function resolveCalls(
  rows: SessionRows,
  key: SessionKey,
  runId: string,
  resolutions: readonly Resolution[],
  request?: NewestRequest,
): Promise<Resolved | undefined> {
  const { table, clock } = rows
  const header = liveHeader(await table.read(headerKey(key)), key)
  const run = await readResolvedRun(rows, key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  const id = runIdOf(run)
  const now = clock.now()
  const isActive = textAt(header, 'active_run') === id
  const isOpen = isActive && textAt(header, 'cancel_run') === undefined
  const resolved = resolvedCalls({ runId: id, calls: await callsOf(rows, key, run), isOpen }, resolutions, now)
  // The resolutions may be too many for one write. A round has at most 64 waiting calls, but members have rounds too,
  // and arguments may be long.
  const part = batchOf(resolved)
  const waiting = (numberAt(header, 'waiting') ?? 0) - part.length
  if (part.length === 0) return { stored: 0, complete: !isActive || waiting === 0 }
  const isLast = part.length === resolved.length
  const body = isLast ? await newestBody(rows.bodies, key, { item: run, header }, request) : undefined
  const refusal = await writeResolutions(rows, key, run, part, { waiting, now, body })
  if (refusal !== undefined) return undefined
  if (isLast) return { stored: part.length, complete: waiting === 0 }
  const rest = await resolveCalls(rows, key, runId, resolutions, request)
  return rest && { ...rest, stored: part.length + rest.stored }
}

async function callsOf(rows: SessionRows, key: SessionKey, run: Item): Promise<ToolMessage[]> {
  const items = (await rowsOfRun(rows, key, run)).filter((item) => textAt(item, 'role') === 'tool')
  return Promise.all(items.map((item) => toolMessageOf(rows.bodies, key, item)))
}

async function writeResolutions(
  { table, bodies }: SessionRows,
  key: SessionKey,
  run: Item,
  calls: readonly ToolMessage[],
  { waiting, now, body }: { waiting: number; now: number; body: Text | undefined },
): ReturnType<SessionRows['table']['write']> {
  const closed = calls.filter(({ status }) => status !== 'approved')
  const stored = await bodies.store(key, [
    ...closed.map((call) => textOfResult(call.id, call)),
    ...(body === undefined ? [] : [body]),
  ])
  const newest = stored[closed.length]
  const texts = new Map(closed.map(({ id }, place) => [id, stored[place]]))
  // The last resolution wakes the session. Expressions cannot branch, so the number of remaining calls is computed
  // here, and checked by the write.
  const isLast: Condition = waiting === 0 ? is('waiting', calls.length) : above('waiting', calls.length)
  const change: Change = { add: { waiting: -calls.length } }
  return table.write([
    {
      update: headerKey(key),
      when: all(live, is('active_run', runIdOf(run)), notCancelled, isLast),
      change: waiting === 0 ? together(change, woken(now)) : change,
    },
    ...(newest === undefined ? [] : [putBody(key, run, newest)]),
    ...calls.map((call) => ({
      update: messageKey(key, call.id),
      when: is('status', 'waiting'),
      change: changeMessage({
        set: {
          status: call.status,
          resolution_hash: call.resolutionHash,
          decision: jsonText(call.decision),
          ...texts.get(call.id),
        },
        add: { documents: documentsOfResult(call) },
      }),
    })),
  ])
}
