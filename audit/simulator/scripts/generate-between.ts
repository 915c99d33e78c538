import { createDice } from './dice.ts'
import type { Fault, Script } from './script.ts'

/** Whose writes land between what others read and what they write: clients', and those that a holder itself no longer waits for. */
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
/** A holder has given its lease up, or gone on, by then. */
const MAX_PAUSE_MS = 25_000

/** The script with writes that come between, for a store that several requests of one call ask. */
export function withBetween(script: Script): Script {
  const dice = createDice(`between ${script.seed}`)
  const faults = Array.from({ length: 2 + dice.below('count', 8) }, (): Fault => {
    const [call, into, how] = dice.pick('call', CALLS)
    const at = Math.round((script.quietAt / 1.5) * dice.next('at'))
    return { at, type: 'between', call, into, how, milliseconds: Math.round(MAX_PAUSE_MS * dice.next('longest')) }
  })
  return { ...script, faults: [...script.faults, ...faults].toSorted((left, right) => left.at - right.at) }
}
