import { TooltrailError } from '../../../../domain/errors.ts'
import { numberAt, type Item } from '../../attributes.ts'
import type { Refusal } from '../../retry.ts'
import { isLive } from './header-item.ts'

/**
 * Result of an attempt that was refused only because the session's list entries changed between its read and its write.
 */
export const MOVED = Symbol('moved')

/**
 * Maximum attempts. An attempt returns `MOVED` only if the session's details or queue changed between its read and its
 * write.
 */
const ATTEMPTS = 16

/** Repeats work while it returns `MOVED`. */
export async function untilUnmoved<Result>(work: () => Promise<Result | typeof MOVED>): Promise<Result> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const result = await work()
    if (result !== MOVED) return result
  }
  throw new TooltrailError('storage_failed', 'the session kept changing during a write', { retryable: true })
}

/**
 * Whether a write was refused only because the session's list entries have changed since this header was read. The
 * session still has the same holder.
 */
export function hasMoved(refusal: Refusal, header: Item): boolean {
  const item = refusal[0]?.item
  return isLive(item) && isEqual('gen', item, header) && !isEqual('list_rev', item, header)
}

const isEqual = (name: string, one: Item, other: Item): boolean => numberAt(one, name) === numberAt(other, name)
