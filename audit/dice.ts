import { randomNumbers } from '../test/e2e/crashes/parts/random-numbers.ts'

/** Random choices from one seed. A seed does not repeat a test exactly, because the test runs in real time. */
export interface Dice {
  number(): number
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

export function createDice(seed: number): Dice {
  const number = randomNumbers(seed)
  return {
    number,
    chance: (probability) => number() < probability,
    pick<Item>(items: readonly Item[]) {
      if (items.length === 0) throw new Error('a choice among nothing')
      return items[Math.floor(number() * items.length)] as Item
    },
  }
}
