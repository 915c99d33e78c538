import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { NewRun } from '../../../../ports/run-inbox.ts'
import { readOne, write, type Database } from '../../database.ts'
import { findLiveSession, type SessionRow } from '../sessions/session-rows.ts'

/** Time for which an idempotency key is remembered. */
export const CLAIM_MS = 86_400_000
/** A time in the infinite future. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Returns the run that was accepted earlier with this idempotency key. */
export function knownRun(
  database: Database,
  row: SessionRow,
  { idempotency }: Pick<NewRun, 'idempotency'>,
  now: number,
): string | undefined {
  if (idempotency === undefined) return undefined
  const claim = claimOf(database, row, idempotency.keyHash, now)
  if (claim !== undefined && claim.bodyHash !== idempotency.bodyHash)
    throw new TooltrailError(
      'idempotency_conflict',
      `the idempotency key was used for another body, run ${claim.runId}`,
    )
  return claim?.runId
}

export function rememberClaim(
  database: Database,
  row: SessionRow,
  { idempotency }: Pick<NewRun, 'idempotency'>,
  runId: string,
  now: number,
): void {
  if (idempotency === undefined) return
  write(database, 'DELETE FROM claims WHERE session = ? AND until < ?', row.number, now)
  write(
    database,
    'INSERT INTO claims (session, keyHash, bodyHash, run, until) VALUES (?, ?, ?, ?, ?)',
    row.number,
    idempotency.keyHash,
    idempotency.bodyHash,
    runId,
    idempotency.forGood === true ? NEVER : now + CLAIM_MS,
  )
}

/** Returns the run that belongs to an idempotency key, and the hash of its request's content. */
export function findClaim(database: Database, key: SessionKey, keyHash: string, now: number): Claim | undefined {
  const row = findLiveSession(database, key)
  const claim = row && claimOf(database, row, keyHash, now)
  // The claim of a summary names no run.
  return claim === undefined || claim.runId === '' ? undefined : claim
}

type Claim = { runId: string; bodyHash: string }

function claimOf(database: Database, row: SessionRow, keyHash: string, now: number): Claim | undefined {
  const sql = 'SELECT run AS runId, bodyHash FROM claims WHERE session = ? AND keyHash = ? AND until >= ?'
  return readOne<Claim>(database, sql, row.number, keyHash, now)
}
