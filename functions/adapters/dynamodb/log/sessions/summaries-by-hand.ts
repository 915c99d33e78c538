import { summaryCompletion, type Summary } from '../../../../domain/context.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionHeader, SessionKey } from '../../../../domain/session.ts'
import type { SessionStore, SummaryByHand } from '../../../../ports/session-store.ts'
import { numberAt, textAt, toItem } from '../../attributes.ts'
import { absent, any, all, is, present } from '../../expressions.ts'
import { claimKey, detailsKey, headerKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { isLive, live, liveHeader, tailIs } from './header-item.ts'
import { CLAIM_MS } from '../runs/claims.ts'
import { seconds } from './deletion/expiry.ts'
import type { SessionRows } from './session-rows.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'

import { CONTEXT_ID, putContext } from './context-item.ts'

type Summaries = Pick<SessionStore, 'summaryUnder' | 'recordSummary'>

/** Creates the store of summaries that people request. */
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
 * Stores a summary that a person has requested, if no process has worked on the session since `seen` was read. The
 * generation increases whenever the lease is acquired or released. If it is unchanged, no process has worked on the
 * session. An unchanged `tail` proves that no run was accepted. So no replacement has superseded the messages that the
 * summary covers. The usage is counted first, because it was spent even if the summary is not stored.
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
    {
      check: headerKey(seen),
      when: all(live, is('gen', seen.generation), absent('active_run'), tailIs(seen.tail)),
    },
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
