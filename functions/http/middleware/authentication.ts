import type { MiddlewareHandler } from 'hono'
import { findCaller, mayUse, OPEN_CALLER } from '../../access/caller.ts'
import type { Caller } from '../../access/caller.ts'
import { looksLikeKey } from '../../access/key-secret.ts'
import type { KeyUse } from '../../access/key-use.ts'
import { takeRequest } from '../../access/rates.ts'
import { isExpired, type Scope } from '../../domain/keys/api-key.ts'
import type { AppDependencies, AppEnv } from '../dependencies.ts'
import { isOpenAiPath } from './openai-error.ts'
import { timeText } from '../v1/time-text.ts'
import { RequestError } from './request-error.ts'

const BEARER = /^Bearer +(\S+) *$/i

/**
 * Finds the caller of a request, and enforces the scopes, expiry and request rate of its key. Without `scope`, the HTTP
 * method decides which scope is needed.
 */
export function authentication(
  dependencies: AppDependencies & { readonly keyUse: KeyUse },
  scope?: Scope,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const caller = await callerOf(dependencies, c.req.header('authorization'), c.get('open'), isOpenAiPath(c.req.path))
    c.set('caller', caller)
    if (caller.key !== undefined) await dependencies.keyUse(caller.key)
    const wait = await takeRequest(dependencies, caller)
    if (wait > 0) {
      const most = caller.key?.caps.requestsPerSecond
      const detail = `this key is limited to ${most} ${most === 1 ? 'request' : 'requests'} per second: retry later`
      const headers = { 'retry-after': String(Math.ceil(wait / 1000)) }
      throw new RequestError(429, 'too_many_requests', detail, { headers })
    }
    const needed = scope ?? (c.req.method === 'GET' || c.req.method === 'HEAD' ? 'read' : 'write')
    if (!mayUse(caller, needed)) throw new RequestError(403, 'scope_missing', `this key lacks the scope ${needed}`)
    await next()
  }
}

async function callerOf(
  { keys, clock, settings }: AppDependencies,
  authorization: string | undefined,
  open: boolean,
  mustSendKey: boolean,
): Promise<Caller> {
  if (authorization === undefined) {
    if (open) return OPEN_CALLER
    throw unauthorized('an API key is needed: Authorization: Bearer tt_…')
  }
  const secret = BEARER.exec(authorization)?.[1]
  // OpenAI's SDKs require a key. If the server needs none, users send an invented key, which is accepted. A key in our own
  // format must be valid even then.
  if (open && mustSendKey && secret !== undefined && !looksLikeKey(secret)) return OPEN_CALLER
  const caller = secret === undefined ? undefined : await findCaller(keys, secret, settings.caps.keys)
  if (caller === undefined) throw unauthorized('this API key is not known')
  const { key } = caller
  if (key !== undefined && isExpired(key, clock.now()))
    throw unauthorized(`this API key expired at ${timeText(key.expiresAt ?? 0)}: ask for a new one`, 'key_expired')
  return caller
}

/** The error that ends an open request when its key was revoked or has expired. */
export const keyRevoked = (): RequestError => unauthorized('this API key has been revoked, or has expired')

/** The error for a caller without a valid key. */
const unauthorized = (detail: string, code: 'unauthorized' | 'key_expired' = 'unauthorized'): RequestError =>
  new RequestError(401, code, detail, { headers: { 'www-authenticate': 'Bearer realm="tooltrail"' } })
