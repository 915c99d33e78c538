import { Hono } from 'hono'
import type { MiddlewareHandler } from 'hono'
import { describe, expect, test } from 'vitest'
import { OPEN_CALLER } from '../../functions/access/caller.ts'
import type { AppEnv } from '../../functions/http/dependencies.ts'
import { createBodyRoom, inRoom } from '../../functions/http/middleware/body-room.ts'
import { errorResponse } from '../../functions/http/middleware/error-response.ts'
import { requestBody } from '../../functions/http/middleware/request-body.ts'

const MB = 1024 * 1024
const large = String(3 * MB)
const room = (patienceMs = 50) => createBodyRoom({ most: 8 * MB, mostOfTenant: 4 * MB, patienceMs })

describe('bodies on their way', () => {
  test('of a tenant that are large wait for each other, and are refused as busy after a while', async () => {
    const { enter } = room()
    await enter('acme', large).holds(MB)
    await expect(enter('acme', large).holds(MB)).rejects.toMatchObject({ status: 503, code: 'busy' })
  })

  test('of other tenants have room of their own', async () => {
    const { enter } = room()
    await enter('acme', large).holds(MB)
    await expect(enter('other', large).holds(MB)).resolves.toBeUndefined()
  })

  test('that are small, or have just begun, need no room', async () => {
    const { enter } = room()
    await enter('acme', large).holds(MB)
    await expect(enter('acme', large).holds(64 * 1024)).resolves.toBeUndefined()
  })

  test('have their turn when one leaves, in their order, and one whose length nobody knows takes the most', async () => {
    const { enter } = room(5_000)
    const first = enter('acme', undefined)
    await first.holds(MB)
    const order: string[] = []
    const waiting = ['second', 'third'].map(async (name) => {
      const body = enter('acme', large)
      await body.holds(MB)
      order.push(name)
      body.leave()
    })
    await Promise.resolve()
    expect(order).toEqual([])
    first.leave()
    await Promise.all(waiting)
    expect(order).toEqual(['second', 'third'])
  })

  test('give their room back when they have been read, or are left', async () => {
    const { enter } = room()
    const body = (): ReadableStream<Uint8Array> =>
      ReadableStream.from([new Uint8Array(MB), new Uint8Array(MB), new Uint8Array(MB)])
    await new Response(inRoom(body(), enter('acme', large))).arrayBuffer()
    const left = inRoom(body(), enter('acme', large)).getReader()
    await left.read()
    await left.cancel()
    await expect(enter('acme', large).holds(MB)).resolves.toBeUndefined()
  })
})

test('a client that leaves in the middle of its body is refused, and nothing has failed', async () => {
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('aborted')) })
  const { enter } = room()
  await expect(new Response(inRoom(body, enter('acme', large))).text()).rejects.toMatchObject({ status: 400 })
  const caller: MiddlewareHandler<AppEnv> = (c, next) => {
    c.set('caller', OPEN_CALLER)
    return next()
  }
  const app = new Hono<AppEnv>().use(caller, requestBody(createBodyRoom()))
  let status: unknown
  app.onError((error, c) => {
    status = (error as { readonly status?: unknown }).status
    return c.text('')
  })
  const left = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('aborted')) })
  await app.request('/', { method: 'POST', body: left, duplex: 'half' } as RequestInit)
  expect(status).toBe(400)
})

test('one that is refused because there is no room is a warning for operators, and a failure is an error', async () => {
  const lines: unknown[] = []
  const log = {
    info: () => undefined,
    warn: (message: string, fields: object = {}) => void lines.push({ level: 'warn', message, ...fields }),
    error: (message: string, cause: unknown) => void lines.push({ level: 'error', message, cause }),
  }
  const { enter } = room()
  await enter('acme', large).holds(MB)
  const failure = new Error('broken')
  const app = new Hono<AppEnv>()
    .get('/busy', async (c) => {
      await enter('acme', large).holds(MB)
      return c.text('')
    })
    .get('/broken', () => {
      throw failure
    })
    .onError((error, c) => errorResponse(error, c, log))
  expect((await app.request('/busy')).status).toBe(503)
  expect((await app.request('/broken')).status).toBe(500)
  expect(lines).toEqual([
    { level: 'warn', message: 'request refused', code: 'busy', reason: expect.stringContaining('try again') },
    { level: 'error', message: 'request failed', cause: failure },
  ])
})
