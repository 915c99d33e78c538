import { summaryCompletion, type SessionContext, type Summary } from '../../../../domain/context.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { Lease, SessionHeader, SessionKey } from '../../../../domain/session.ts'
import type { Decision } from '../../../../ports/run-log.ts'
import type { SessionStore, SummaryByHand } from '../../../../ports/session-store.ts'
import { numberAt, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, any, all, is, present, type Condition } from '../../expressions.ts'
import { claimKey, contextKey, detailsKey, headerKey, runKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { heldHeader, isHeld, isLive, live, liveHeader, mine } from './header-item.ts'
import { noticesOf, textOfNotices } from '../runs/run-item.ts'
import { CLAIM_MS } from '../runs/run-inbox.ts'
import { seconds } from './expiry.ts'
import type { SessionRows } from './session-rows.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

/** Names the object of a context that is too large for its item. */
const CONTEXT_ID = `${'0'.repeat(25)}1`

/** What was decided, as an item holds it; nothing if there is no item. */
export async function contextOf(
  { bodies }: SessionRows,
  key: SessionKey,
  item: Item | undefined,
): Promise<SessionContext> {
  const text = item && (await bodies.read(key, item, 'context'))
  return text === undefined ? {} : (JSON.parse(text) as SessionContext)
}

/** Puts what was decided; its text is stored when this resolves. */
export async function putContext(
  { bodies }: SessionRows,
  key: SessionKey,
  context: SessionContext,
  when?: Condition,
): Promise<Action> {
  const [fields = {}] = await bodies.store(key, [
    { id: CONTEXT_ID, attribute: 'context', text: JSON.stringify(context) },
  ])
  const put = toItem({ ...contextKey(key), ...fields, through: context.summary?.through })
  return { put, ...(when === undefined ? {} : { when }) }
}

/** Records a policy's decision of the run that this lease holds. */
export async function recordDecision(rows: SessionRows, lease: Lease, decision: Decision): Promise<void> {
  const { table, bodies } = rows
  const [header, run] = await table.readMany([headerKey(lease), runKey(lease, lease.runId)])
  heldHeader(header, lease)
  if (run === undefined) throw new LeaseLost(lease.session, lease.generation)
  const before = numberAt(run, 'decisions') ?? 0
  if (before === decision.number + 1) return
  const notices = [...(await noticesOf(bodies, lease, run)), ...decision.notices]
  const [text = {}] = await bodies.store(lease, [textOfNotices(lease.runId, notices)])
  const { context, work, account = {} } = decision
  const completion = work && summaryCompletion(work)
  const refusal = await table.write([
    completion === undefined
      ? { check: headerKey(lease), when: mine(lease) }
      : { update: headerKey(lease), when: mine(lease), change: { add: countedInRun(completion) } },
    {
      update: runKey(lease, lease.runId),
      when: all(present('pk'), decision.number === 0 ? absent('decisions') : is('decisions', decision.number)),
      change: { set: { ...text, decisions: decision.number + 1 } },
    },
    ...(context === undefined ? [] : [await putContext(rows, lease, context)]),
    ...countUsage(lease, completion, account),
  ])
  if (refusal === undefined) return
  const [now, stored] = await table.readMany([headerKey(lease), runKey(lease, lease.runId)])
  if (!isHeld(now, lease)) throw new LeaseLost(lease.session, lease.generation)
  const count = stored && numberAt(stored, 'decisions')
  if (count !== decision.number + 1)
    throw new TooltrailError('storage_failed', `run ${lease.runId} has ${count} decisions, not ${decision.number}`)
}

type Summaries = Pick<SessionStore, 'summaryUnder' | 'recordSummary'>

/** The summaries that people ask for. */
export function summariesByHand(rows: SessionRows): Summaries {
  return {
    summaryUnder: (key, idempotency) => summaryUnder(rows, key, idempotency),
    recordSummary: (seen, made) => recordSummary(rows, seen, made),
  }
}

async function summaryUnder(
  { table, clock, bodies }: SessionRows,
  key: SessionKey,
  { keyHash, bodyHash }: Parameters<Summaries['summaryUnder']>[1],
): Promise<Summary | undefined> {
  const [header, claim] = await table.readMany([headerKey(key), claimKey(key, keyHash)])
  if (!isLive(header) || claim === undefined || (numberAt(claim, 'until') ?? Infinity) < clock.now()) return undefined
  const result = await bodies.read(key, claim, 'context')
  if (textAt(claim, 'body_hash') !== bodyHash || result === undefined)
    throw new TooltrailError('idempotency_conflict', 'the idempotency key was used for another request')
  return JSON.parse(result) as Summary
}

/**
 * The generation grows whenever somebody takes the session or gives it back, so it shows whether anybody has worked on it
 * since. The usage is counted first, because it was spent whether or not the summary is stored.
 */
async function recordSummary(rows: SessionRows, seen: SessionHeader, made: SummaryByHand): Promise<boolean> {
  const { table } = rows
  const isThere = { check: headerKey(seen), when: live }
  const completion = summaryCompletion(made.work)
  const count = { update: detailsKey(seen), when: present('pk'), change: { add: countedInRun(completion) } }
  const actions = [isThere, count, ...countUsage(seen, completion, made.account)]
  if ((await table.write(actions)) !== undefined) {
    await table.write(countUsage(seen, completion, made.account))
    liveHeader(await table.read(headerKey(seen)), seen)
    throw new TooltrailError('storage_failed', `session ${seen.session} has no details`)
  }
  if (made.context === undefined) return false
  const isUnchanged = made.from === undefined ? absent('through') : is('through', made.from)
  const refusal = await table.write([
    { check: headerKey(seen), when: all(live, is('gen', seen.generation), absent('active_run')) },
    await putContext(rows, seen, made.context, any(absent('pk'), isUnchanged)),
    ...(await claimActions(rows, seen, made)),
  ])
  if (refusal === undefined) return true
  liveHeader(await table.read(headerKey(seen)), seen)
  return false
}

async function claimActions(
  { bodies, clock }: SessionRows,
  key: SessionKey,
  { idempotency, context }: SummaryByHand,
): Promise<Action[]> {
  if (idempotency === undefined || context === undefined) return []
  const until = clock.now() + CLAIM_MS
  const text = JSON.stringify(context.summary)
  const [result = {}] = await bodies.store(key, [{ id: CONTEXT_ID, attribute: 'context', text }])
  const fields = { body_hash: idempotency.bodyHash, run: '', until, expires_at: seconds(until), ...result }
  return [{ put: toItem({ ...claimKey(key, idempotency.keyHash), ...fields }) }]
}

/** The summary that a session's item holds. */
export async function summaryOf(
  rows: SessionRows,
  key: SessionKey,
  item: Item | undefined,
): Promise<Summary | undefined> {
  if (item === undefined || textAt(item, 'through') === undefined) return undefined
  return (await contextOf(rows, key, item)).summary
}
