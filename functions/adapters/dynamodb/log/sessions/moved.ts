import { TooltrailError } from '../../../../domain/errors.ts'
import { numberAt, type Item } from '../../attributes.ts'
import type { Refusal } from '../../retry.ts'
import { isLive } from './header-item.ts'

/** The session has moved in lists between a read and the write, and nothing else was in the way. */
export const MOVED = Symbol('moved')

/** An attempt finds the session moved only if its details or its queue have changed meanwhile. */
const ATTEMPTS = 16

/** Repeats work until it does not find the session moved. */
export async function untilUnmoved<Result>(work: () => Promise<Result | typeof MOVED>): Promise<Result> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const result = await work()
    if (result !== MOVED) return result
  }
  throw new TooltrailError('storage_failed', 'the session kept changing during a write', { retryable: true })
}

/** Whether a write that began with this header was refused because the session has moved in lists, to the same holder. */
export function hasMoved(refusal: Refusal, header: Item): boolean {
  const item = refusal[0]?.item
  return isLive(item) && isEqual('gen', item, header) && !isEqual('list_rev', item, header)
}

const isEqual = (name: string, one: Item, other: Item): boolean => numberAt(one, name) === numberAt(other, name)
