import { steadyTime } from '../../domain/time/steady-time.ts'
import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { AppDependencies, AppEnv } from '../dependencies.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/
const PATH_LENGTH = 256

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
} as const

/**
 * Gives each request an id (the caller's `X-Request-Id` if it is well-formed). Adds that id and our security headers to
 * the response, and writes one log line without bodies, queries or secrets.
 */
export function requestLog({ clock, log, settings }: AppDependencies): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
    c.set('requestId', requestId)
    c.set('request', c.req.raw)
    const now = steadyTime(() => clock.now())
    const begun = now()
    await next()
    c.res.headers.set('x-request-id', requestId)
    for (const [name, value] of Object.entries(HEADERS)) {
      if (name === 'cross-origin-resource-policy' && settings.corsOrigins.length > 0) continue
      c.res.headers.set(name, value)
    }
    if (!c.res.headers.has('content-security-policy'))
      c.res.headers.set('content-security-policy', "default-src 'none'")
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
    const caller = c.get('caller') as AppEnv['Variables']['caller'] | undefined
    log.info('request', {
      request_id: requestId,
      method: c.req.method,
      path: new URL(c.req.url).pathname.slice(0, PATH_LENGTH),
      status: c.res.status,
      duration_ms: now() - begun,
      tenant: caller?.tenant,
      key: caller?.key?.id,
    })
  }
}
