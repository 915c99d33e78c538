import type { MiddlewareHandler } from 'hono'
import type { Scope } from '../../domain/api-key.ts'
import { requestRate } from '../../domain/request-rate.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { AppDependencies, AppEnv, Caller } from '../dependencies.ts'
import { hashKeySecret, isKeySecret } from '../../access/key-secret.ts'
import { RequestError } from './request-error.ts'

const BEARER = /^Bearer +(\S+) *$/i
const OPEN_CALLER: Caller = { tenant: 'default', scopes: ['read', 'write', 'admin'] }

/** Finds out for whom a request acts, and holds it to its key's scopes and request rate. */
export function authentication(dependencies: AppDependencies): MiddlewareHandler<AppEnv> {
  const identify = callerFinder(dependencies)
  return async (c, next) => {
    const caller = await identify(c.req.header('authorization'), c.get('open'))
    c.set('caller', caller)
    const { key } = caller
    if (key?.caps.requestsPerSecond !== undefined) {
      const rate = requestRate(key.caps.requestsPerSecond)
      const wait = await dependencies.keys.take(key.id, rate, dependencies.clock.now())
      if (wait > 0)
        throw new RequestError(
          429,
          'too_many_requests',
          `this key may send ${key.caps.requestsPerSecond} requests a second`,
          {
            headers: { 'retry-after': String(Math.ceil(wait / 1000)) },
          },
        )
    }
    const needed: Scope = c.req.method === 'GET' || c.req.method === 'HEAD' ? 'read' : 'write'
    if (!caller.scopes.includes(needed) && !caller.scopes.includes('admin'))
      throw new RequestError(403, 'scope_missing', `this key lacks the scope ${needed}`)
    await next()
  }
}

/** Refuses a new run beyond the key's cap on runs that are queued, running or paused. */
export async function checkActiveRuns({ reader }: AppDependencies, caller: Caller): Promise<void> {
  const cap = caller.key?.caps.activeRuns
  if (caller.key === undefined || cap === undefined) return
  if ((await reader.activeRuns(caller.tenant, caller.key.id)) >= cap)
    throw new TooltrailError(
      'too_many_active_runs',
      `this key may have ${cap === 1 ? '1 run' : `${cap} runs`} queued, running or paused at a time: wait until one has ended, or cancel one`,
      { retryable: true },
    )
}

type FindCaller = (authorization: string | undefined, open: boolean) => Promise<Caller>

function callerFinder({ keys }: AppDependencies): FindCaller {
  return async (authorization, open) => {
    if (authorization === undefined) {
      if (open) return OPEN_CALLER
      throw unauthorized('an API key is needed: Authorization: Bearer tt_…')
    }
    const secret = BEARER.exec(authorization)?.[1]
    const key = secret === undefined || !isKeySecret(secret) ? undefined : await keys.find(hashKeySecret(secret))
    if (key === undefined) throw unauthorized('this API key is not known')
    return { tenant: key.tenant, scopes: key.scopes, key, ...(key.owner === undefined ? {} : { owner: key.owner }) }
  }
}

const unauthorized = (detail: string): RequestError =>
  new RequestError(401, 'unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="tooltrail"' } })
