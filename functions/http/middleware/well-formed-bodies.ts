import type { MiddlewareHandler } from 'hono'
import { wellFormed } from '../../log/json/well-formed.ts'
import type { AppEnv } from '../dependencies.ts'

/** Replaces lone surrogates in every body that a handler sends with `c.json`. `jsonText` does the same. */
export const wellFormedBodies = (): MiddlewareHandler<AppEnv> => async (c, next) => {
  const write = c.json
  const json = (value: unknown, ...rest: never[]): unknown => write(wellFormed(value) as never, ...rest)
  Object.assign(c, { json })
  await next()
}
