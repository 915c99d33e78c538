import type { Dice } from './dice.ts'
import type { Operation } from './script.ts'

/** Draws operations on one session that do not belong to its runs. They happen between and during runs. */
export function outsideOf(dice: Dice, horizon: number): Operation[] {
  const session = dice.below('outside session', 12)
  const base = (): Pick<Operation, 'at' | 'session' | 'server'> => ({
    at: Math.round(horizon * dice.next('outside at')),
    session: dice.chance('outside elsewhere', 0.2) ? dice.below('outside other', 12) : session,
    server: dice.below('outside server', 3),
  })
  const imports = Array.from({ length: dice.below('imports', 4) }, (_, number): Operation => {
    const again = dice.chance('imported again', 0.5) ? { again: Math.round(20_000 * dice.next('imported after')) } : {}
    // One step of an import contains about 80 rows, so a long import has several steps.
    const count = dice.chance('long import', 0.15) ? 40 + dice.below('turns', 60) : 1 + dice.below('some turns', 5)
    const names = Array.from({ length: count }, (__, turn) => `i${1_000 * (number + 1) + turn}`)
    return { ...base(), type: 'import', names, retries: 1 + dice.below('import retries', 6), ...again }
  })
  const summaries = Array.from({ length: dice.below('summaries', 4) }, (_, number): Operation => {
    return { ...base(), type: 'consolidate', key: `summary ${dice.chance('same key', 0.3) ? 0 : number}` }
  })
  const ratings = Array.from({ length: dice.below('ratings', 5) }, (_, number): Operation => {
    return { ...base(), type: 'rate', user: `person-${number}` }
  })
  const forks = Array.from({ length: dice.below('forks', 3) }, (_, number): Operation => {
    return { ...base(), type: 'fork', name: `fork-${number + 1}`, retries: 1 + dice.below('fork retries', 4) }
  })
  const copied = dice.chance('copied and deleted', 0.3) ? copiedAndDeleted(dice, base()) : []
  return [...imports, ...copied, ...forks, ...summaries, ...ratings]
}

/** Draws three operations: a log of several pages is imported, copied, and deleted during the copy. */
function copiedAndDeleted(dice: Dice, base: Pick<Operation, 'at' | 'session' | 'server'>): Operation[] {
  const names = Array.from({ length: 60 + dice.below('copied turns', 60) }, (_, turn) => `i${9_000 + turn}`)
  const at = base.at + 20_000
  return [
    { ...base, type: 'import', names, retries: 6 },
    { ...base, type: 'fork', at, name: 'fork-deleted', retries: 1 },
    { ...base, type: 'delete', at: at + dice.below('deleted meanwhile', 150) },
  ]
}
