import type { Input, Operation, Script } from './script.ts'
import { simulate } from '../simulation.ts'
import type { Options } from '../simulation.ts'

/** Maximum number of simulations in the search for a smaller script. */
const MAX_TRIES = 400

type Fails = (candidate: Script) => Promise<boolean>

/**
 * Finds a smaller script that breaks the same rule. First removes operations and faults, then instructions of inputs.
 * Finally moves everything to the earliest possible times.
 */
export async function shrink(script: Script, rule: string, options: Options): Promise<Script> {
  let tries = 0
  const fails: Fails = async (candidate) => {
    if (tries++ >= MAX_TRIES) return false
    const { violation } = await simulate(candidate, { ...options, keepTrace: false })
    return violation?.rule === rule
  }
  let smallest = script
  for (const part of ['faults', 'operations', 'sessions'] as const)
    smallest = await withFewer<unknown>(smallest[part], (left) => ({ ...smallest, [part]: left }), smallest, fails)
  const { consolidation: _, ...forgetful } = smallest
  if (await fails(forgetful)) smallest = forgetful
  for (const simpler of [{ delivers: false }, { functions: false }, { servers: 1 }])
    if (await fails({ ...smallest, ...simpler })) smallest = { ...smallest, ...simpler }
  smallest = await withShorterInputs(smallest, fails)
  const soon = { ...smallest, ...sooner(smallest) }
  return (await fails(soon)) ? soon : smallest
}

/** Removes as many items as possible while the script still fails. Tries large groups of items first. */
async function withFewer<Item>(
  items: readonly Item[],
  having: (items: readonly Item[]) => Script,
  script: Script,
  fails: Fails,
): Promise<Script> {
  let [left, smallest] = [items, script]
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < left.length;) {
      const fewer = left.filter((_, place) => place < at || place >= at + size)
      const candidate = having(fewer)
      if (await fails(candidate)) [left, smallest] = [fewer, candidate]
      else at += size
    }
  return smallest
}

/** Removes rounds and calls from the inputs. */
async function withShorterInputs(script: Script, fails: Fails): Promise<Script> {
  let smallest = script
  for (const [place, operation] of script.operations.entries()) {
    if (operation.type !== 'submit') continue
    const having = (rounds: Input['rounds']): Script => withOperation(smallest, place, roundsOf(operation, rounds))
    smallest = await withFewer(operation.input.rounds, having, smallest, fails)
    for (let round = 0; ; round++) {
      const shorter = smallest.operations[place]
      const rounds = shorter?.type === 'submit' ? shorter.input.rounds : []
      const calls = rounds[round]
      if (calls === undefined) break
      const replaced = (fewer: Input['rounds'][number]) => having(rounds.with(round, fewer))
      smallest = await withFewer(calls, replaced, smallest, fails)
    }
  }
  return smallest
}

const withOperation = (script: Script, place: number, operation: Operation): Script => ({
  ...script,
  operations: script.operations.with(place, operation),
})

const roundsOf = (operation: Extract<Operation, { type: 'submit' }>, rounds: Input['rounds']): Operation => ({
  ...operation,
  input: { ...operation.input, rounds },
})

/** Removes the idle time before the first operation and after the last one. */
function sooner({ operations, faults }: Script): Partial<Script> {
  const first = Math.min(...operations.map(({ at }) => at)) - 100
  const moved = <T extends { readonly at: number }>(one: T): T => ({ ...one, at: Math.max(0, one.at - first) })
  const last = Math.max(...[...operations, ...faults].map(({ at }) => at - first))
  return { operations: operations.map(moved), faults: faults.map(moved), quietAt: last + 10_000 }
}
