import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { NewRun } from '../../../../ports/run-inbox.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, any, below } from '../../expressions.ts'
import { claimKey, headerKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { seconds } from '../sessions/deletion/expiry.ts'
import { isLive } from '../sessions/header-item.ts'
import type { SessionRows } from '../sessions/session-rows.ts'

/** Time for which an idempotency key is remembered. */
export const CLAIM_MS = 86_400_000

/** Returns the run that was accepted earlier with this idempotency key. */
export function knownRun(
  claim: Item | undefined,
  { idempotency }: Pick<NewRun, 'idempotency'>,
  now: number,
): string | undefined {
  if (claim === undefined || idempotency === undefined || (numberAt(claim, 'until') ?? Infinity) < now) return undefined
  const run = requiredText(claim, 'run')
  if (textAt(claim, 'body_hash') !== idempotency.bodyHash)
    throw new TooltrailError('idempotency_conflict', `the idempotency key was used for another body, run ${run}`)
  return run
}

export function claimActions(
  key: SessionKey,
  { idempotency }: Pick<NewRun, 'idempotency'>,
  run: string,
  now: number,
): Action[] {
  if (idempotency === undefined) return []
  const until = now + CLAIM_MS
  const limits = idempotency.forGood === true ? {} : { until, expires_at: seconds(until) }
  const fields = { body_hash: idempotency.bodyHash, run, ...limits }
  const put = toItem({ ...claimKey(key, idempotency.keyHash), ...fields })
  return [{ put, when: any(absent('pk'), below('until', now)) }]
}

/** Returns the run that belongs to an idempotency key, and the hash of its request's content. */
export async function findClaim(
  { table, clock }: SessionRows,
  key: SessionKey,
  keyHash: string,
): Promise<{ runId: string; bodyHash: string } | undefined> {
  const [header, claim] = await table.readMany([headerKey(key), claimKey(key, keyHash)])
  if (!isLive(header) || claim === undefined || (numberAt(claim, 'until') ?? Infinity) < clock.now()) return undefined
  const runId = requiredText(claim, 'run')
  // The claim of a summary names no run.
  return runId === '' ? undefined : { runId, bodyHash: requiredText(claim, 'body_hash') }
}
