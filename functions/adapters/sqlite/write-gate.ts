import type { DatabaseSync } from 'node:sqlite'

/**
 * Threads of one process that write to the same file. A thread that indexes in the background lets the others go first:
 * SQLite does not queue writers, and one that never pauses would keep the event loop waiting at its next commit. SQLite looks
 * for the end of another's transaction now and then only, and each side would sleep while the file is free: the gate wakes them.
 */
export type WriteGate = Int32Array<SharedArrayBuffer>

/** How many want to go first, and whether a transaction of the background is under way. */
const WAITING = 0
const HELD = 1

const gates = new WeakMap<DatabaseSync, WriteGate>()
/** A thread that died between opening and shutting would close the gate for ever. */
const MAX_CLOSED_MS = 1_000

export const createWriteGate = (): WriteGate => new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))

/** From now on, transactions on this connection go before those of the background. */
export function goFirst(database: DatabaseSync, gate: WriteGate): void {
  gates.set(database, gate)
}

/** Runs a transaction, for which those of the background wait; one that is under way is waited for, a second at most. */
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

/** Runs a transaction of the background when nobody wants to go first, or after a second. Blocks this thread, never the main one. */
export function afterOthers<Result>(gate: WriteGate, work: () => Result): Result {
  const deadline = performance.now() + MAX_CLOSED_MS
  // Held first: of two threads that look at the same moment, this one sees that the other waits.
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

/** No transaction of the background is under way: it has ended, or its thread has. */
export function releaseGate(gate: WriteGate): void {
  Atomics.store(gate, HELD, 0)
  Atomics.notify(gate, HELD)
}

function waitWhile(gate: WriteGate, place: number): void {
  const deadline = performance.now() + MAX_CLOSED_MS
  for (let now = Atomics.load(gate, place); now > 0 && performance.now() < deadline; now = Atomics.load(gate, place))
    Atomics.wait(gate, place, now, MAX_CLOSED_MS)
}
