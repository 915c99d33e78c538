import type { MiddlewareHandler } from 'hono'
import type { AppDependencies, AppEnv, AppSettings } from '../dependencies.ts'
import { RequestError } from './request-error.ts'

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

/**
 * Keeps pages of other sites away from a server that needs no key: the request must name a loopback host (a rebound DNS name
 * is not one), and a browser's `Origin` must be this server's own or an allowed one.
 */
export function originGuard({ keys, settings }: AppDependencies): MiddlewareHandler<AppEnv> {
  let keysExist = !settings.openAccess
  return async (c, next) => {
    keysExist ||= await keys.any()
    c.set('open', !keysExist)
    if (keysExist) return next()
    const url = new URL(c.req.url)
    const host = c.req.header('host') ?? url.host
    if (!LOOPBACK.test(host) || !LOOPBACK.test(url.host))
      throw new RequestError(403, 'host_not_allowed', 'without API keys, only a loopback host is served')
    const origin = c.req.header('origin')
    if (origin !== undefined && !isAllowed(origin, host, settings))
      throw new RequestError(403, 'origin_not_allowed', 'without API keys, only pages of this server may call it')
    await next()
  }
}

const isAllowed = (origin: string, host: string, settings: AppSettings): boolean =>
  origin.toLowerCase() === `http://${host.toLowerCase()}` || settings.corsOrigins.includes(origin)
