import { definedFields } from '../../../../domain/defined-fields.ts'
import { summaryCompletion, type SessionContext, type Summary } from '../../../../domain/context.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { Lease, SessionKey } from '../../../../domain/session.ts'
import type { Decision } from '../../../../ports/run-log.ts'
import { numberAt, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, all, is, present, type Condition } from '../../expressions.ts'
import { contextKey, headerKey, runKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { heldHeader, isHeld, mine } from './header-item.ts'
import { noticesOf, textOfNotices } from '../runs/run-item.ts'
import type { SessionRows } from './session-rows.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

/** Id of the object in the output store that has a context too large for its item. */
export const CONTEXT_ID = `${'0'.repeat(25)}1`

/** Returns the decisions that an item stores. Without an item, there are none. */
export async function contextOf(
  { bodies }: SessionRows,
  key: SessionKey,
  item: Item | undefined,
): Promise<SessionContext> {
  const text = item && (await bodies.read(key, item, 'context'))
  return text === undefined ? {} : (JSON.parse(text) as SessionContext)
}

/** Stores the text of the decisions, and returns the action that writes their item. */
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
  return { put, ...definedFields({ when }) }
}

/** Records a policy's decision for the run of this lease. */
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

/** Returns the summary in a session's item. */
export async function summaryOf(
  rows: SessionRows,
  key: SessionKey,
  item: Item | undefined,
): Promise<Summary | undefined> {
  if (item === undefined || textAt(item, 'through') === undefined) return undefined
  return (await contextOf(rows, key, item)).summary
}
