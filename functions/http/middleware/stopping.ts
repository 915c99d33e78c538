import type { MiddlewareHandler } from 'hono'
import type { AppDependencies, AppEnv } from '../dependencies.ts'
import { RequestError } from './request-error.ts'

/** Rejects requests that start something while the process is about to stop. */
export function refuseWhenStopping({ stopping }: AppDependencies): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (stopping().aborted && c.req.method === 'POST')
      throw new RequestError(503, 'stopping', 'this server is shutting down: retry in 1 s', {
        headers: { 'retry-after': '1' },
      })
    await next()
  }
}
