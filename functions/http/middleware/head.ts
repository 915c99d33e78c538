import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'

/**
 * Answers a HEAD with the headers of its GET. The body is not sent, so its producer is cancelled as if the client had
 * disconnected. So an event stream does not stay open, and an export or a download reads nothing.
 */
export function headOnly(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
