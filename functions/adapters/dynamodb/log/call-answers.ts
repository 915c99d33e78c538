import { TooltrailError } from '../../../domain/errors.ts'
import { STATUS_TEXT, type ToolMessage } from '../../../domain/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Answer, Answered } from '../../../ports/run-inbox.ts'
import { numberAt, textAt, type Item } from '../attributes.ts'
import { above, all, is, together, type Change, type Condition } from '../expressions.ts'
import { live, liveHeader, notCancelled, woken } from './header-item.ts'
import { headerKey, messageKey } from '../keys.ts'
import { changeMessage, documentsOfResult, textOfResult, toolMessageOf } from './message-item.ts'
import { runIdOf } from './run-item.ts'
import { readResolvedRun, rowsOfRun, type SessionRows } from './session-rows.ts'

/** Answers of one atomic write, which takes 100 items; a round has 64 calls at most. */
const ANSWERS_AT_ONCE = 95

/**
 * Stores answers of people and clients to waiting calls, all or nothing; the last one makes the session due. Answers undefined
 * when the session changed meanwhile: look again.
 */
export async function answerCalls(
  rows: SessionRows,
  key: SessionKey,
  runId: string,
  answers: readonly Answer[],
): Promise<Answered | undefined> {
  const { table, clock } = rows
  const header = liveHeader(await table.read(headerKey(key)), key)
  const run = await readResolvedRun(rows, key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  const id = runIdOf(run)
  const calls = await callsOf(rows, key, run)
  const now = clock.now()
  const answered = new Map<string, ToolMessage>()
  for (const answer of answers) {
    const current = calls.map((call) => answered.get(call.id) ?? call)
    const call = answeredCall(header, id, current, answer, now)
    if (call !== undefined) answered.set(call.id, call)
  }
  const waiting = (numberAt(header, 'waiting') ?? 0) - answered.size
  const isActive = textAt(header, 'active_run') === id
  if (answered.size === 0) return { stored: 0, complete: !isActive || waiting === 0 }
  if (answered.size > ANSWERS_AT_ONCE)
    throw new TooltrailError('storage_failed', `at most ${ANSWERS_AT_ONCE} answers can be stored at once`)
  const refusal = await writeAnswers(rows, key, id, [...answered.values()], { waiting, now })
  return refusal === undefined ? { stored: answered.size, complete: waiting === 0 } : undefined
}

async function callsOf(rows: SessionRows, key: SessionKey, run: Item): Promise<ToolMessage[]> {
  const items = (await rowsOfRun(rows, key, run)).filter((item) => textAt(item, 'role') === 'tool')
  return Promise.all(items.map((item) => toolMessageOf(rows.bodies, key, item)))
}

async function writeAnswers(
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
        set: { status: call.status, answer_hash: call.answerHash, ...texts.get(call.id) },
        add: { documents: documentsOfResult(call) },
      }),
    })),
  ])
}

/** The answered call; undefined when the same answer was stored before. */
function answeredCall(
  header: Item,
  runId: string,
  calls: readonly ToolMessage[],
  answer: Answer,
  now: number,
): ToolMessage | undefined {
  const named = calls.filter(({ toolCallId }) => toolCallId === answer.toolCallId).toReversed()
  const call = named.find(({ status }) => status === 'waiting') ?? named[0]
  if (call === undefined) throw new TooltrailError('call_not_found', `run ${runId} has no call ${answer.toolCallId}`)
  if (call.status !== 'waiting') {
    if (named.some(({ answerHash }) => answerHash === answer.hash)) return undefined
    throw conflict(`call ${answer.toolCallId} is ${call.status} and was not answered like this`)
  }
  const needs = answer.kind === 'approval' ? 'approval' : 'result'
  if (call.needs !== needs) throw conflict(`call ${answer.toolCallId} waits for ${call.needs}, not for ${needs}`)
  if (textAt(header, 'active_run') !== runId || textAt(header, 'cancel_run') !== undefined)
    throw conflict(`run ${runId} is being cancelled, call ${answer.toolCallId} takes no answer any more`)
  return withAnswer(call, answer, now)
}

function withAnswer(call: ToolMessage, answer: Answer, now: number): ToolMessage {
  const answered = { ...call, answerHash: answer.hash }
  if (answer.kind === 'approval') {
    if (answer.approved) return { ...answered, status: 'approved' }
    return { ...answered, status: 'denied', parts: [{ type: 'text', text: STATUS_TEXT.denied }], completedAt: now }
  }
  const output = answer.output === undefined ? {} : { output: answer.output }
  return { ...answered, status: answer.status, parts: answer.parts, completedAt: now, ...output }
}

const conflict = (message: string): TooltrailError => new TooltrailError('answer_conflict', message)
