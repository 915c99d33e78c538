import { isSessionId, isTenant } from '../../domain/ids.ts'
import type { Hint } from '../../ports/run-queue.ts'

/** A hint as a message body. */
export const encodeHint = ({ tenant, session, hops }: Hint): string => JSON.stringify({ tenant, session, hops })

/** The hint of a message body; throws for any other body. */
export function decodeHint(body: string): Hint {
  const value: unknown = JSON.parse(body)
  if (typeof value === 'object' && value !== null && 'tenant' in value && 'session' in value) {
    const { tenant, session } = value
    const hops = 'hops' in value && isCount(value.hops) ? { hops: value.hops } : {}
    if (typeof tenant === 'string' && typeof session === 'string' && isTenant(tenant) && isSessionId(session))
      return { tenant, session, ...hops }
  }
  throw new TypeError('the message is not a hint with a tenant and a session')
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
