import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'

/**
 * Answers a HEAD with the headers of the GET response. The body is not sent, so its producer is cancelled as after a disconnect.
 * Otherwise, an event stream would stay open, and an export or a download would read its data.
 */
export function headOnly(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
