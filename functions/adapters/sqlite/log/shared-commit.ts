import { asFailure, transaction, write, type Database } from '../database.ts'

interface Part {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly result: unknown } | { readonly error: unknown }

const waiting = new WeakMap<Database, Part[]>()

/**
 * Like `transaction`, but commits together with all other shared transactions that are requested in this tick of the
 * event loop. Examples are results of calls that ended together, and rounds of different sessions. Each transaction
 * succeeds or fails separately, and none waits for a later tick.
 *
 * `setImmediate` schedules the commit. Node would run a `process.nextTick` after each callback of a socket or a timer,
 * so writes for different clients would never share a commit.
 */
export function sharedTransaction<T>(database: Database, work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const part: Part = { work, resolve: (result) => resolve(result as T), reject }
    const parts = waiting.get(database)
    if (parts !== undefined) {
      parts.push(part)
      return
    }
    waiting.set(database, [part])
    setImmediate(commitWaiting, database)
  })
}

function commitWaiting(database: Database): void {
  const parts = waiting.get(database) ?? []
  waiting.delete(database)
  try {
    const outcomes = transaction(database, () =>
      parts.length === 1
        ? parts.map(({ work }) => ({ result: work() }))
        : parts.map(({ work }) => attempt(database, work)),
    )
    for (const [place, outcome] of outcomes.entries()) settle(parts[place], outcome)
  } catch (error) {
    for (const part of parts) part.reject(error)
  }
}

/**
 * Runs one part. If the part throws, only this part is rolled back, and the outcome has its error. This function throws
 * only if SQLite has ended the whole transaction (full disk, I/O error).
 */
function attempt(database: Database, work: () => unknown): Outcome {
  write(database, 'SAVEPOINT part')
  try {
    const result = work()
    write(database, 'RELEASE part')
    return { result }
  } catch (error) {
    if (!database.isOpen || !database.isTransaction) throw error
    write(database, 'ROLLBACK TO part')
    write(database, 'RELEASE part')
    return { error: asFailure(error) }
  }
}

function settle(part: Part | undefined, outcome: Outcome): void {
  if ('error' in outcome) part?.reject(outcome.error)
  else part?.resolve(outcome.result)
}
