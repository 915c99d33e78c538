import type { DatabaseSync } from 'node:sqlite'

/**
 * Threads of one process that write to the same file. A thread that indexes in the background lets the others go first:
 * SQLite does not queue writers, and one that never pauses would keep the event loop waiting at its next commit.
 */
export type WriteGate = Int32Array<SharedArrayBuffer>

const gates = new WeakMap<DatabaseSync, WriteGate>()
/** A thread that died between opening and shutting would close the gate for ever. */
const LONGEST_MS = 1_000

export const createWriteGate = (): WriteGate => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** From now on, transactions on this connection go before those that pass the gate. */
export function goFirst(database: DatabaseSync, gate: WriteGate): void {
  gates.set(database, gate)
}

/** Runs a transaction, for which others at the gate wait. */
export function beforeOthers<Result>(database: DatabaseSync, work: () => Result): Result {
  const gate = gates.get(database)
  if (gate === undefined) return work()
  Atomics.add(gate, 0, 1)
  try {
    return work()
  } finally {
    Atomics.sub(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
}

/** Blocks this thread, never the main one, until nobody wants to go first. */
export function passGate(gate: WriteGate): void {
  const deadline = performance.now() + LONGEST_MS
  for (
    let waiting = Atomics.load(gate, 0);
    waiting > 0 && performance.now() < deadline;
    waiting = Atomics.load(gate, 0)
  )
    Atomics.wait(gate, 0, waiting, LONGEST_MS)
}
