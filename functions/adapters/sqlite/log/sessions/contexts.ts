import { summaryCompletion, type SessionContext, type Summary } from '../../../../domain/context.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import type { AssistantMessage } from '../../../../domain/messages/message.ts'
import { withCompletion } from '../../../../domain/runs/run-changes.ts'
import type { Lease, SessionHeader, SessionKey } from '../../../../domain/session.ts'
import type { UsageAccount } from '../../../../domain/usage/usage-count.ts'
import type { Decision } from '../../../../ports/run-log.ts'
import type { SessionStore, SummaryByHand } from '../../../../ports/session-store.ts'
import { readOne, transaction, write, type Database } from '../../database.ts'
import { pack, unpack } from '../messages/packed-text.ts'
import { CLAIM_MS } from '../runs/claims.ts'
import { findRun, saveRun } from '../runs/run-rows.ts'
import { counting, heldSession } from './session-changes.ts'
import { findLiveSession, saveSession, sessionNotFound, type SessionRow } from './session-rows.ts'
import { countUsage } from '../usage/usage-rows.ts'

/** Returns the decisions for the requests of the session with this number. */
export function findContext(database: Database, session: number): SessionContext {
  const row = readOne<{ body: string | Uint8Array }>(database, 'SELECT body FROM contexts WHERE session = ?', session)
  return row === undefined ? {} : (JSON.parse(unpack(row.body)) as SessionContext)
}

/** Replaces the decisions. */
export function saveContext(database: Database, session: number, context: SessionContext): void {
  const sql = 'INSERT INTO contexts (session, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body'
  write(database, sql, session, pack(JSON.stringify(context)))
}

/** Records a policy's decision for the run of this lease. */
export function recordDecision(database: Database, lease: Lease, decision: Decision): void {
  transaction(database, () => {
    const row = heldSession(database, lease)
    const stored = findRun(database, row.number, lease.runId)
    if (stored === undefined) throw new LeaseLost(lease.session, lease.generation)
    const { run } = stored
    const before = run.decisions ?? 0
    if (before === decision.number + 1) return
    if (before !== decision.number)
      throw new TooltrailError('storage_failed', `run ${run.id} has ${before} decisions, not ${decision.number}`)
    const { work, account = {} } = decision
    const completion = work && summaryCompletion(work)
    const counted = completion === undefined ? run : withCompletion(run, completion)
    const notices = [...(run.notices ?? []), ...decision.notices]
    const noticed = notices.length === 0 ? {} : { notices }
    saveRun(database, stored, { ...counted, ...noticed, decisions: before + 1 })
    if (completion !== undefined) count(database, row, completion, account)
    if (decision.context !== undefined) saveContext(database, row.number, decision.context)
  })
}

function count(database: Database, row: SessionRow, completion: AssistantMessage, account: UsageAccount): void {
  saveSession(database, row, counting(row, completion))
  countUsage(database, row, completion, account)
}

type Summaries = Pick<SessionStore, 'summaryUnder' | 'recordSummary'>

/** Creates the store of summaries that people request. */
export function summariesByHand(database: Database, now: () => number): Summaries {
  return {
    summaryUnder: async (key, idempotency) => summaryUnder(database, key, idempotency, now()),
    recordSummary: async (seen, made) => recordSummary(database, seen, made, now()),
  }
}

function summaryUnder(
  database: Database,
  key: SessionKey,
  { keyHash, bodyHash }: Parameters<Summaries['summaryUnder']>[1],
  now: number,
): Summary | undefined {
  const row = findLiveSession(database, key)
  if (row === undefined) return undefined
  const sql = 'SELECT bodyHash, result FROM claims WHERE session = ? AND keyHash = ? AND until >= ?'
  const claim = readOne<{ bodyHash: string; result: string | null }>(database, sql, row.number, keyHash, now)
  if (claim === undefined) return undefined
  if (claim.bodyHash !== bodyHash || claim.result === null)
    throw new TooltrailError('idempotency_conflict', 'the idempotency key was used for another request')
  return JSON.parse(claim.result) as Summary
}

function recordSummary(database: Database, seen: SessionHeader, made: SummaryByHand, now: number): boolean {
  const completion = summaryCompletion(made.work)
  const isStored = transaction(database, () => {
    const row = findLiveSession(database, seen)
    if (row === undefined) {
      countUsage(database, seen, completion, made.account)
      return undefined
    }
    count(database, row, completion, made.account)
    const isSame =
      row.generation === seen.generation &&
      row.activeRun === null &&
      (row.tail ?? undefined) === seen.tail &&
      findContext(database, row.number).summary?.through === made.from
    if (made.context === undefined || !isSame) return false
    saveContext(database, row.number, made.context)
    if (made.idempotency === undefined) return true
    const sql =
      'INSERT OR REPLACE INTO claims (session, keyHash, bodyHash, run, until, result) VALUES (?, ?, ?, ?, ?, ?)'
    const { keyHash, bodyHash } = made.idempotency
    write(database, sql, row.number, keyHash, bodyHash, '', now + CLAIM_MS, JSON.stringify(made.context.summary))
    return true
  })
  if (isStored === undefined) throw sessionNotFound(seen)
  return isStored
}
