import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { RowChange, RowRecords } from '../ports/message-rows.ts'
import type { Failure } from './add-documents.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

const AGAIN = 'records are to be indexed again'
const PUT_ASIDE = 'a message is put aside, `npm run redrive` indexes it'
/** A record that cannot be read is tried for so long, where others can be indexed meanwhile. */
const RECORD_TIMEOUT_MS = 600_000
/** And for so long by this process, however old it is: after a standstill all records are old. */
const TRIED_MS = 60_000
/** Failing records whose first failure is remembered. */
const REMEMBERED = 1_000

/** The outcome of a batch, in the form that the sender of the records expects: it continues at the first of these. */
export interface BatchResult {
  readonly failed: readonly string[]
}

interface Dependencies<StoreRecord> extends IndexDependencies {
  readonly records: RowRecords<StoreRecord>
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Pick<Logger, 'warn'>
}

interface Taken {
  readonly sequence: string
  /** Milliseconds since 1970. */
  readonly at: number | undefined
  readonly change: RowChange
}

/**
 * Keeps the index in step with the store's records. Names the earliest record that failed: its sender goes on there, and what
 * is done twice by that does no harm. A record that fails alone holds up the others for ten minutes, a minute of them here at least,
 * then its message is put aside; one that takes more than the time until `signal` is put aside at once.
 */
export function createIndexer<StoreRecord>(
  dependencies: Dependencies<StoreRecord>,
): (batch: readonly StoreRecord[], signal?: AbortSignal) => Promise<BatchResult> {
  const { records, logger } = dependencies
  const failing = new Map<string, number>()
  return async (batch, signal) => {
    const taken = batch.flatMap((record): Taken[] => {
      const change = records.change(record)
      return change === undefined ? [] : [{ sequence: records.sequence(record), at: records.at(record), change }]
    })
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
      logger.warn(AGAIN, { ...whose(failed.change), from: failed.sequence, error: failures[at]?.error })
      return { failed: [failed.sequence] }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      logger.warn(AGAIN, { ...whose(first.change), from: first.sequence, error: text })
      return { failed: [first.sequence] }
    }
  }
}

/** Reports what fails by itself, and returns what still failed. */
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
      // The first has had all the time that there is.
      const hopeless = failure.cause === 'late' ? place === 0 : failure.cause === 'unread' && old && othersAreDone
      if (!hopeless) return failure
      const { tenant, session, message_id: messageId } = whose(one.change)
      logger.warn(PUT_ASIDE, { tenant, session, message_id: messageId, error: failure.error })
      await indexDeadLetters.send({ tenant, session, messageId, error: failure.error })
      return undefined
    }),
  )
}

/** The ids of what a change is about. */
function whose(change: RowChange): { readonly tenant: string; readonly session: string; readonly message_id: string } {
  const { key, messageId } = 'stored' in change ? change.stored : change.removed
  return { tenant: key.tenant, session: key.session, message_id: messageId }
}
