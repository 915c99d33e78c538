import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'

/**
 * Answers a HEAD with the headers of its GET. The body is not sent, so its producer is cancelled as if the client had
 * disconnected. Without this, an event stream would stay open, and an export or a download would read its data.
 */
export function headOnly(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
