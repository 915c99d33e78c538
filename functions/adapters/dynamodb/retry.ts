import { steadyTime } from '../../domain/time/steady-time.ts'
import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import { TooltrailError } from '../../domain/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Item } from './attributes.ts'

/** Why an atomic write was refused: for each action whose condition failed, the item at that time. */
export type Refusal = readonly ({ readonly item: Item | undefined } | undefined)[]

/** Repeats work that failed temporarily. */
export type Retry = <Result>(action: string, work: () => Promise<Result>) => Promise<Result>

/** Maximum attempts. With the waits between them, they take about three seconds. The DynamoDB client does not retry. */
const ATTEMPTS = 9
/** No attempt begins after this time. A store that never responds must not block a caller for the length of a lease. */
const BEGUN_WITHIN_MS = 20_000
const FIRST_WAIT_MS = 25
const MAX_WAIT_MS = 1_000

/** Errors that may be temporary: the store is busy, another process writes the same item, or the outcome is unknown. */
const TRANSIENT = new Set([
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
])
const TRANSIENT_REASONS = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])

/**
 * Repeats work that failed temporarily, with growing random waits. After the last attempt, rejects with
 * `storage_failed`.
 */
export function createRetry(clock: Clock): Retry {
  return async (action, work) => {
    const now = steadyTime(() => clock.now())
    const begun = now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const retryable = isTransient(error)
        if (!retryable || attempt >= ATTEMPTS || now() - begun >= BEGUN_WITHIN_MS) {
          const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
          throw new TooltrailError('storage_failed', `DynamoDB could not ${action}: ${reason}`, {
            retryable,
            cause: error,
          })
        }
        await clock.sleep(Math.random() * Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS))
      }
    }
  }
}

/** Returns why the conditions of a write failed; undefined for any other failure. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof ConditionalCheckFailedException) return [{ item: error.Item }]
  if (!(error instanceof TransactionCanceledException)) return undefined
  const reasons = error.CancellationReasons ?? []
  if (!reasons.some((reason) => reason.Code === 'ConditionalCheckFailed')) return undefined
  return reasons.map((reason) => (reason.Code === 'ConditionalCheckFailed' ? { item: reason.Item } : undefined))
}

function isTransient(error: unknown): boolean {
  if (error instanceof TransactionCanceledException) {
    const codes = (error.CancellationReasons ?? []).flatMap(({ Code }) =>
      Code === undefined || Code === 'None' ? [] : [Code],
    )
    return codes.length > 0 && codes.every((code) => TRANSIENT_REASONS.has(code))
  }
  if (error instanceof DynamoDBServiceException)
    return TRANSIENT.has(error.name) || (error.$metadata.httpStatusCode ?? 500) >= 500
  // There was no response: the connection was lost, or a timeout expired.
  return error instanceof Error && error.name !== 'CredentialsProviderError'
}
