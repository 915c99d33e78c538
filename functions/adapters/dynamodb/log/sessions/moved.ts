import { TooltrailError } from '../../../../domain/errors.ts'
import { numberAt, type Item } from '../../attributes.ts'
import type { Refusal } from '../../retry.ts'
import { isLive } from './header-item.ts'

/** Result of an attempt whose session has moved in lists between read and write, without any other conflict. */
export const MOVED = Symbol('moved')

/** Maximum attempts. An attempt finds the session moved only if its details or its queue have changed meanwhile. */
const ATTEMPTS = 16

/** Repeats work while it finds the session moved. */
export async function untilUnmoved<Result>(work: () => Promise<Result | typeof MOVED>): Promise<Result> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const result = await work()
    if (result !== MOVED) return result
  }
  throw new TooltrailError('storage_failed', 'the session kept changing during a write', { retryable: true })
}

/**
 * Whether a write that began with this header was refused only because the session has moved in lists. Its holder is
 * still the same.
 */
export function hasMoved(refusal: Refusal, header: Item): boolean {
  const item = refusal[0]?.item
  return isLive(item) && isEqual('gen', item, header) && !isEqual('list_rev', item, header)
}

const isEqual = (name: string, one: Item, other: Item): boolean => numberAt(one, name) === numberAt(other, name)
