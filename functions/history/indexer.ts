import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { MessageRows, RowChange, RowRecords } from '../ports/message-rows.ts'
import type { Failure } from './add-documents.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

const RETRY = 'records are to be indexed again'
const DEAD_LETTERED = 'a message is dead-lettered: `npm run redrive` indexes it'
/** Age, in milliseconds, at which an unreadable record is dead-lettered if the other records of its batch can be indexed. */
const RECORD_TIMEOUT_MS = 600_000
/** Minimum time for which this process retries an unreadable record. It is needed because all records are old after an outage. */
const TRIED_MS = 60_000
/** Maximum number of failing records for which the time of the first failure is kept. */
const REMEMBERED = 1_000

/** The result of a batch. The sender of the records resumes at the first failed record. */
export interface BatchResult {
  readonly failed: readonly string[]
}

interface Dependencies<StoreRecord> extends IndexDependencies {
  readonly records: RowRecords<StoreRecord>
  readonly rows: Pick<MessageRows, 'between'>
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Pick<Logger, 'warn'>
}

interface Taken {
  readonly sequence: string
  /** Time of the record, in milliseconds since 1970. */
  readonly at: number | undefined
  readonly change: RowChange
}

/**
 * Keeps the index in step with the store's records. Returns the earliest record that failed. The sender resumes there,
 * and records that are indexed twice do no harm.
 * If only one record cannot be read, this process retries it for at least a minute. The record blocks the others for at
 * most ten minutes. Then its message is dead-lettered. If one record takes all of the time until `signal` aborts, its message is
 * dead-lettered at once.
 */
export function createIndexer<StoreRecord>(
  dependencies: Dependencies<StoreRecord>,
): (batch: readonly StoreRecord[], signal?: AbortSignal) => Promise<BatchResult> {
  const { logger } = dependencies
  const failing = new Map<string, number>()
  return async (batch, signal) => {
    const taken = await takeAll(dependencies, batch)
    const first = taken[0]
    if (first === undefined) return { failed: [] }
    try {
      const changes = taken.map(({ change }) => change)
      const failures = await deadLetter(
        { ...dependencies, failing },
        taken,
        await indexMessages(dependencies, changes, signal),
      )
      const at = failures.findIndex((failure) => failure !== undefined)
      const failed = taken[at]
      if (failed === undefined) return { failed: [] }
      logger.warn(RETRY, { ...idsOf(failed.change), from: failed.sequence, error: failures[at]?.error })
      return { failed: [failed.sequence] }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      logger.warn(RETRY, { ...idsOf(first.change), from: first.sequence, error: text })
      return { failed: [first.sequence] }
    }
  }
}

/** Returns the changes of all records. A replacement changes all messages that it supersedes. */
async function takeAll<StoreRecord>(
  { records, rows }: Dependencies<StoreRecord>,
  batch: readonly StoreRecord[],
): Promise<Taken[]> {
  const taken: Taken[] = []
  for (const record of batch) {
    const of = { sequence: records.sequence(record), at: records.at(record) }
    const change = records.change(record)
    if (change !== undefined) taken.push({ ...of, change })
    const superseded = records.superseded(record)
    if (superseded === undefined) continue
    for await (const stored of rows.between(superseded)) taken.push({ ...of, change: { stored } })
  }
  return taken
}

/** Dead-letters records that fail permanently, and returns the remaining failures. */
async function deadLetter<StoreRecord>(
  { indexDeadLetters, clock, logger, failing }: Dependencies<StoreRecord> & { readonly failing: Map<string, number> },
  taken: readonly Taken[],
  failures: readonly Failure[],
): Promise<readonly Failure[]> {
  const othersAreDone = failures.includes(undefined)
  const now = clock.now()
  if (failing.size > REMEMBERED) failing.clear()
  for (const [place, { sequence }] of taken.entries())
    if (failures[place] === undefined) failing.delete(sequence)
    else failing.set(sequence, failing.get(sequence) ?? now)
  return Promise.all(
    failures.map(async (failure, place): Promise<Failure> => {
      const one = taken[place]
      if (failure === undefined || one === undefined) return failure
      const tried = now - (failing.get(one.sequence) ?? now)
      const old = now - (one.at ?? Infinity) > RECORD_TIMEOUT_MS && tried > TRIED_MS
      // Only the first record could use the whole time of the batch, so its timeout is permanent.
      const isFirst = one.sequence === taken[0]?.sequence
      const hopeless = failure.cause === 'late' ? isFirst : failure.cause === 'unread' && old && othersAreDone
      if (!hopeless) return failure
      const { tenant, session, message_id: messageId } = idsOf(one.change)
      logger.warn(DEAD_LETTERED, { tenant, session, message_id: messageId, error: failure.error })
      await indexDeadLetters.send({ tenant, session, messageId, error: failure.error })
      return undefined
    }),
  )
}

/** Returns the ids of a change's message. */
function idsOf(change: RowChange): { readonly tenant: string; readonly session: string; readonly message_id: string } {
  const { key, messageId } = 'stored' in change ? change.stored : change.removed
  return { tenant: key.tenant, session: key.session, message_id: messageId }
}
