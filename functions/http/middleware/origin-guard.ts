import type { MiddlewareHandler } from 'hono'
import type { AppDependencies, AppEnv, AppSettings } from '../dependencies.ts'
import { RequestError } from './request-error.ts'

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

/**
 * Rejects requests from pages of other sites while the server needs no key. A request must name a loopback host, which
 * prevents DNS rebinding. A browser's `Origin` must be this server's own or an allowed one. A request without `Origin`,
 * such as one for an image, must not come from another site (`Sec-Fetch-Site`). The only exception is a followed link.
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
      throw new RequestError(
        403,
        'host_not_allowed',
        'the server has no API keys yet, so only a loopback host such as 127.0.0.1 is allowed: create a key',
      )
    const origin = c.req.header('origin')
    if (origin !== undefined && !isAllowed(origin, host, settings))
      throw new RequestError(
        403,
        'origin_not_allowed',
        'the server has no API keys yet, so only its own pages and allowed origins may call it: create a key',
      )
    if (origin === undefined && isOfOtherSite(c.req.method, (name) => c.req.header(name)))
      throw new RequestError(
        403,
        'origin_not_allowed',
        'the server has no API keys yet, so only its own pages and allowed origins may call it: create a key',
      )
    await next()
  }
}

const OWN_SITES: readonly string[] = ['same-origin', 'none']

/**
 * Whether the browser says that a page of another site or port makes the request. Other programs send no such header.
 */
function isOfOtherSite(method: string, header: (name: string) => string | undefined): boolean {
  const site = header('sec-fetch-site')
  if (site === undefined || OWN_SITES.includes(site)) return false
  const isNavigation = header('sec-fetch-mode') === 'navigate' && header('sec-fetch-dest') === 'document'
  return !(isNavigation && (method === 'GET' || method === 'HEAD'))
}

const isAllowed = (origin: string, host: string, settings: AppSettings): boolean =>
  origin.toLowerCase() === `http://${host.toLowerCase()}` || settings.corsOrigins.includes(origin)
