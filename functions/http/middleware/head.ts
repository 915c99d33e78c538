import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'

/**
 * Answers a HEAD with the headers of its GET. The body is not sent, so its producer is cancelled as if the client had
 * disconnected. An event stream then no longer counts as open; an export or a download reads nothing.
 */
export function headOnly(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
  }
}
