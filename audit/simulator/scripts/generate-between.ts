import { createDice } from './dice.ts'
import type { Fault, Script } from './script.ts'

/**
 * Possible `between` faults. Each delays the first write of a call until another call has read and is about to write.
 * Each entry has the delayed call, the other call (empty for any), and the kind of fault. `late`: the sender waits
 * until the write has landed. `disowned`: the sender gets an error before the write lands.
 */
const CALLS = [
  ['inbox.enqueue', 'log.endRun', 'late'],
  ['inbox.enqueue', 'log.endRun', 'late'],
  ['inbox.enqueue', '', 'late'],
  ['log.appendRound', 'log.endRun', 'disowned'],
  ['log.appendRound', '', 'disowned'],
  ['inbox.cancel', 'log.', 'late'],
  ['inbox.resolve', '', 'late'],
  ['lease.', '', 'late'],
  ['deletion.tombstone', '', 'late'],
] as const
/**
 * Maximum delay of a write. It is so long that the holder has released its lease or continued before the write lands.
 */
const MAX_PAUSE_MS = 25_000

/** Adds `between` faults to the script. They need a store that executes a call in several requests. */
export function withBetween(script: Script): Script {
  const dice = createDice(`between ${script.seed}`)
  const faults = Array.from({ length: 2 + dice.below('count', 8) }, (): Fault => {
    const [call, into, how] = dice.pick('call', CALLS)
    const at = Math.round((script.quietAt / 1.5) * dice.next('at'))
    return { at, type: 'between', call, into, how, milliseconds: Math.round(MAX_PAUSE_MS * dice.next('longest')) }
  })
  return { ...script, faults: [...script.faults, ...faults].toSorted((left, right) => left.at - right.at) }
}
