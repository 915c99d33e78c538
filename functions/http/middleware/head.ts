import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'

/**
 * A HEAD has the headers of its GET. Nobody reads the body, so what makes it ends here, as if the client had left: an event stream
 * gives its open call back, an export and a download read nothing.
 */
export function headOnly(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
