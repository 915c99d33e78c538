import { isSessionId, isTenant } from '../../domain/ids.ts'
import type { SessionKey } from '../../domain/session.ts'

/** A hint as a message body. */
export const encodeHint = ({ tenant, session }: SessionKey): string => JSON.stringify({ tenant, session })

/** The hint of a message body; throws for a body that is none. */
export function decodeHint(body: string): SessionKey {
  const value: unknown = JSON.parse(body)
  if (typeof value === 'object' && value !== null && 'tenant' in value && 'session' in value) {
    const { tenant, session } = value
    if (typeof tenant === 'string' && typeof session === 'string' && isTenant(tenant) && isSessionId(session))
      return { tenant, session }
  }
  throw new TypeError('the message is no hint of a tenant and a session')
}
