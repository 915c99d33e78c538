import type { MiddlewareHandler } from 'hono'
import { wellFormed } from '../../log/json/well-formed.ts'
import type { AppEnv } from '../dependencies.ts'

/** Lets `c.json` of every handler write a body without half of a surrogate pair, as `jsonText` does. */
export const wellFormedBodies = (): MiddlewareHandler<AppEnv> => async (c, next) => {
  const write = c.json
  const json = (value: unknown, ...rest: never[]): unknown => write(wellFormed(value) as never, ...rest)
  Object.assign(c, { json })
  await next()
}
