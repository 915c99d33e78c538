import { Hono } from 'hono'
import type { MiddlewareHandler } from 'hono'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from '../../../functions/domain/time/yield-to-event-loop.ts'
import { OPEN_CALLER } from '../../../functions/access/caller.ts'
import type { AppEnv } from '../../../functions/http/dependencies.ts'
import { createBodyBudget } from '../../../functions/http/middleware/body-budget.ts'
import { requestBody } from '../../../functions/http/middleware/request-body.ts'

/** Sends a request with each of these bodies. Returns the ticks of the event loop in which the requests reached their route. */
async function roundsOf(bodies: readonly string[]): Promise<number[]> {
  let round = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; round++) await yieldToEventLoop()
  })()
  const rounds: number[] = []
  const caller: MiddlewareHandler<AppEnv> = (c, next) => {
    c.set('caller', OPEN_CALLER)
    return next()
  }
  const app = new Hono<AppEnv>().use(caller, requestBody(createBodyBudget())).post('/', (c) => {
    rounds.push(round)
    return c.text('')
  })
  await Promise.all(bodies.map(async (body) => app.request('/', { method: 'POST', body })))
  isOver = true
  await counting
  return rounds
}

test('large bodies are read one after another, and yield to other requests', async () => {
  const rounds = await roundsOf(Array.from({ length: 6 }, () => JSON.stringify('x'.repeat(300_000))))
  const gaps = rounds.slice(1).map((round, at) => round - (rounds[at] ?? 0))
  expect(gaps).toHaveLength(5)
  expect(Math.min(...gaps)).toBeGreaterThan(1)
})
