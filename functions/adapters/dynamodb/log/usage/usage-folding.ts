import type { Lease } from '../../../../domain/session.ts'
import type { RunEnd } from '../../../../domain/runs/run-changes.ts'
import { numberAt, type Item } from '../../attributes.ts'
import { all, is, present } from '../../expressions.ts'
import { detailsKey, headerKey, runKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { mine } from '../sessions/header-item.ts'
import { countedInRun, counterNames } from './usage-counters.ts'

/**
 * Maximum number of counters that one write moves or removes. An expression has at most 4 KB, and each agent has seven
 * counters.
 */
const MAX_COUNTERS = 200

/** Returns the names of the header's counters that one write removes. */
export const someCounters = (header: Item): string[] => counterNames(header).slice(0, MAX_COUNTERS)

/** Whether a run has more counters than the write that ends it may move. This happens with many agents. */
export const hasMoreCounters = (header: Item): boolean => counterNames(header).length > MAX_COUNTERS

/**
 * Number of counters whose values the condition of a move checks. A move removes all counters that it moves, so each of
 * them shows whether another move was faster.
 */
const CHECKED_COUNTERS = 50

/**
 * Returns the actions that move some counters from the header to the run and to the session's totals, before the write
 * that ends the run. The actions fail if the counters have changed since `header` was read: an earlier attempt without
 * a response may have moved them.
 */
export function moveCounters(lease: Lease, header: Item): Action[] {
  const names = someCounters(header)
  const add = sumsOf(header, names)
  const unchanged = names.slice(0, CHECKED_COUNTERS).map((name) => is(name, numberAt(header, name) ?? 0))
  return [
    { update: headerKey(lease), when: all(mine(lease), ...unchanged), change: { remove: names } },
    { update: runKey(lease, lease.runId), when: is('status', 'running'), change: { add } },
    { update: detailsKey(lease), when: present('pk'), change: { add } },
  ]
}

/** Returns the rounds and tokens that were not moved: those in the header, plus the run's last completion. */
export function countersAtEnd(header: Item, { message }: RunEnd): Record<string, number> {
  const sums: Record<string, number> = {
    rounds: numberAt(header, 'rounds') ?? 0,
    ...sumsOf(header, counterNames(header)),
  }
  const added = message === undefined ? {} : countedInRun(message)
  for (const [name, count] of Object.entries(added)) sums[name] = (sums[name] ?? 0) + count
  return sums
}

const sumsOf = (header: Item, names: readonly string[]): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, numberAt(header, name) ?? 0]))
