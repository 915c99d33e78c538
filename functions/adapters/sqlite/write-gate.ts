import type { DatabaseSync } from 'node:sqlite'

/**
 * Coordinates threads of one process that write to one file. Threads with priority go first, and the background thread
 * that updates the index waits for them. SQLite does not queue writers. So without the gate, a background thread that
 * never pauses would block the next commit of the event loop. SQLite also polls until another transaction ends, so both
 * threads could sleep while the file is free. The gate wakes a waiting thread at once.
 */
export type WriteGate = Int32Array<SharedArrayBuffer>

/**
 * Positions of the gate's two values: the number of waiting writers with priority, and whether a background transaction
 * is in progress.
 */
const WAITING = 0
const HELD = 1

const gates = new WeakMap<DatabaseSync, WriteGate>()
/** Maximum time that a thread waits for the gate, because another thread may have crashed while it held the gate. */
const MAX_CLOSED_MS = 1_000

export const createWriteGate = (): WriteGate => new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))

/** Gives transactions on this connection priority over background transactions. */
export function goFirst(database: DatabaseSync, gate: WriteGate): void {
  gates.set(database, gate)
}

/**
 * Runs a transaction with priority. Background transactions wait until it has ended. If a background transaction is in
 * progress, this transaction first waits for it, at most a second.
 */
export function beforeOthers<Result>(database: DatabaseSync, work: () => Result): Result {
  const gate = gates.get(database)
  if (gate === undefined) return work()
  Atomics.add(gate, WAITING, 1)
  try {
    waitWhile(gate, HELD)
    return work()
  } finally {
    Atomics.sub(gate, WAITING, 1)
    Atomics.notify(gate, WAITING)
  }
}

/**
 * Runs a background transaction as soon as no thread with priority waits, or after a second. The wait blocks the calling
 * thread, which is never the main thread.
 */
export function afterOthers<Result>(gate: WriteGate, work: () => Result): Result {
  const deadline = performance.now() + MAX_CLOSED_MS
  // This thread takes the gate before it checks for waiting threads. If another thread begins to wait at the same time,
  // this thread sees it.
  for (hold(gate); Atomics.load(gate, WAITING) > 0 && performance.now() < deadline; hold(gate)) {
    releaseGate(gate)
    waitWhile(gate, WAITING)
  }
  try {
    return work()
  } finally {
    releaseGate(gate)
  }
}

const hold = (gate: WriteGate): number => Atomics.store(gate, HELD, 1)

/** Marks that no background transaction is in progress: either the transaction or its thread has ended. */
export function releaseGate(gate: WriteGate): void {
  Atomics.store(gate, HELD, 0)
  Atomics.notify(gate, HELD)
}

function waitWhile(gate: WriteGate, place: number): void {
  const deadline = performance.now() + MAX_CLOSED_MS
  for (let now = Atomics.load(gate, place); now > 0 && performance.now() < deadline; now = Atomics.load(gate, place))
    Atomics.wait(gate, place, now, MAX_CLOSED_MS)
}
