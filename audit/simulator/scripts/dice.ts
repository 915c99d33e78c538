/**
 * Random numbers from a seed. Each name has its own sequence, so numbers that one part of a simulation draws do not
 * change those of other parts.
 */
export interface Dice {
  /** Draws a number that is at least 0 and below 1. */
  next(name: string): number
  /** Draws an integer that is at least 0 and below `limit`. */
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

/** Computes the hash FNV-1a with 32 bits. `hash`: the hash of the preceding text. */
export function hashText(text: string, hash = 0x811c9dc5): number {
  let value = hash
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}

/** Mixes the bits of a number (the finalizer of MurmurHash3), so that similar numbers get very different results. */
function mix(number: number): number {
  let value = number >>> 0
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
