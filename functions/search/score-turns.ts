import { setImmediate as nextRound } from 'node:timers/promises'

/** Documents that are read for their words in one go, in some 30 ms whatever they hold; then others get their turn. */
const AT_ONCE = 4

let turn: Promise<unknown> = Promise.resolve()

/** Resolves when everybody else has had a turn: however many searches wait, one goes on in each round of the event loop. */
export function searchTurn(): Promise<unknown> {
  turn = turn.then(() => nextRound())
  return turn
}

/** What `make` makes of each, a few in each turn of this search. */
export async function inTurns<One, Made>(all: readonly One[], make: (one: One) => Made): Promise<Made[]> {
  const made: Made[] = []
  for (const one of all) {
    if (made.length % AT_ONCE === 0) await searchTurn()
    made.push(make(one))
  }
  return made
}
