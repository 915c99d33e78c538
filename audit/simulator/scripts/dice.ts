/** Numbers that a seed decides, one sequence a name: what one part of a simulation asks for changes nothing for the others. */
export interface Dice {
  /** 0 to below 1. */
  next(name: string): number
  /** A whole number, 0 to below `limit`. */
  below(name: string, limit: number): number
  chance(name: string, probability: number): boolean
  pick<T>(name: string, list: readonly T[]): T
}

export function createDice(seed: string): Dice {
  const sequences = new Map<string, { readonly start: number; count: number }>()

  function next(name: string): number {
    let sequence = sequences.get(name)
    if (sequence === undefined) {
      sequence = { start: hashText(`${seed}/${name}`), count: 0 }
      sequences.set(name, sequence)
    }
    return mix(sequence.start + Math.imul(sequence.count++, 0x9e3779b9)) / 2 ** 32
  }

  const below = (name: string, limit: number): number => Math.floor(next(name) * limit)
  return {
    next,
    below,
    chance: (name, probability) => next(name) < probability,
    pick: (name, list) => {
      const picked = list[below(name, list.length)]
      if (picked === undefined) throw new Error(`nothing to pick for ${name}`)
      return picked
    },
  }
}

/** FNV-1a, 32 bits. Continues from `hash`. */
export function hashText(text: string, hash = 0x811c9dc5): number {
  let value = hash
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}

/** The end of MurmurHash3: neighbouring numbers come out far apart. */
function mix(number: number): number {
  let value = number >>> 0
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
