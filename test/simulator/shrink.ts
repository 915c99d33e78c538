import type { Script } from './script.ts'
import { simulate } from './simulation.ts'
import type { Options } from './simulation.ts'

/** Simulations that looking for a smaller script may take. */
const MOST_TRIES = 300

/** A script that breaks the same rule with fewer operations and faults: pieces are left out for as long as it does. */
export async function shrink(script: Script, rule: string, options: Options): Promise<Script> {
  let smallest = script
  let tries = 0
  const fails = async (candidate: Script): Promise<boolean> => {
    if (tries++ >= MOST_TRIES) return false
    const { violation } = await simulate(candidate, { ...options, keepTrace: false })
    return violation?.rule === rule
  }
  for (const part of ['faults', 'operations'] as const)
    for (let size = Math.ceil(smallest[part].length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
      for (let at = 0; at < smallest[part].length;) {
        const left = smallest[part].filter((_, place) => place < at || place >= at + size)
        const candidate = { ...smallest, [part]: left }
        if (await fails(candidate)) smallest = candidate
        else at += size
      }
  for (const simpler of [{ servers: 1 }, sooner(smallest)])
    if (await fails({ ...smallest, ...simpler })) smallest = { ...smallest, ...simpler }
  return smallest
}

/** The same without the time before the first operation and after the last. */
function sooner({ operations, faults }: Script): Partial<Script> {
  const first = Math.min(...operations.map(({ at }) => at)) - 100
  const moved = <T extends { readonly at: number }>(one: T): T => ({ ...one, at: Math.max(0, one.at - first) })
  const last = Math.max(...[...operations, ...faults].map(({ at }) => at - first))
  return { operations: operations.map(moved), faults: faults.map(moved), quietAt: last + 10_000 }
}
