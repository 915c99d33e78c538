/* Evidence, limits: Bodies that stall need bounded memory, for each tenant and in total. */
/* Evidence, house: A request refused because of load is logged as a warning without a stack. Only failures are logged as
 * errors. */
import { Hono } from 'hono'
import type { MiddlewareHandler } from 'hono'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { OPEN_CALLER } from '../../../functions/access/caller.ts'
import type { AppEnv } from '../../../functions/http/dependencies.ts'
import { createBodyBudget, withinBudget, chunksWithinBudget } from '../../../functions/http/middleware/body-budget.ts'
import { errorResponse } from '../../../functions/http/middleware/error-response.ts'
import { requestBody } from '../../../functions/http/middleware/request-body.ts'

const MB = 1024 * 1024
const large = String(3 * MB)
const budget = (timeoutMs = 50) => createBodyBudget({ most: 8 * MB, mostOfTenant: 4 * MB, timeoutMs })

describe('bodies that are being received', () => {
  test('wait for other large bodies of their tenant, and are refused as busy after a timeout', async () => {
    const { enter } = budget()
    await enter('acme', large).holds(MB)
    await expect(enter('acme', large).holds(MB)).rejects.toMatchObject({ status: 503, code: 'busy' })
  })

  test('of other tenants have their own budget', async () => {
    const { enter } = budget()
    await enter('acme', large).holds(MB)
    await expect(enter('other', large).holds(MB)).resolves.toBeUndefined()
  })

  test('that are small, or have just started, need no budget', async () => {
    const { enter } = budget()
    await enter('acme', large).holds(MB)
    await expect(enter('acme', large).holds(64 * 1024)).resolves.toBeUndefined()
  })

  test('wait in order until another body ends; a body of unknown length counts as the maximum', async () => {
    const { enter } = budget(5_000)
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

  test('release their budget once they are read or aborted', async () => {
    const { enter } = budget()
    const body = (): ReadableStream<Uint8Array> =>
      ReadableStream.from([new Uint8Array(MB), new Uint8Array(MB), new Uint8Array(MB)])
    await new Response(withinBudget(body(), enter('acme', large))).arrayBuffer()
    const left = withinBudget(body(), enter('acme', large)).getReader()
    await left.read()
    await left.cancel()
    await expect(enter('acme', large).holds(MB)).resolves.toBeUndefined()
  })
})

describe('a slow body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const later = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
  /** A body that begins with `first` bytes. Twelve chunks of `bytes` bytes follow, one every `everyMs` milliseconds. */
  const coming = (bytes: number, everyMs: number, first = 100 * 1024): ReadableStream<Uint8Array> =>
    ReadableStream.from(
      (async function* () {
        yield new Uint8Array(first)
        for (let piece = 0; piece < 12; piece++) {
          await later(everyMs)
          yield new Uint8Array(bytes)
        }
      })(),
    )
  async function read(body: ReadableStream<Uint8Array>, pauseMs = 0): Promise<number> {
    let size = 0
    for await (const piece of chunksWithinBudget(body, budget().enter('acme', large))) {
      size += piece.byteLength
      await later(pauseMs)
    }
    return size
  }
  async function inTime<Value>(value: Promise<Value>): Promise<Value> {
    const ended = Promise.allSettled([value])
    await vi.advanceTimersByTimeAsync(120_000)
    await ended
    return value
  }

  test('is rejected when it stalls, or when almost no data arrives', async () => {
    const stalled = { status: 408, code: 'body_stalled' }
    await expect(inTime(read(coming(1, 100_000)))).rejects.toMatchObject(stalled)
    await expect(inTime(read(coming(1, 2_000)))).rejects.toMatchObject(stalled)
  })

  test('is accepted at any speed while it is too small to need budget', async () => {
    await expect(inTime(read(coming(1024, 9_000, 48 * 1024)))).resolves.toBe(60 * 1024)
    await expect(inTime(read(coming(9 * 1024, 9_000, 32 * 1024)))).rejects.toMatchObject({ status: 408 })
  })

  test('is read to its end if the sender is slow but continues, or if the reader is slow', async () => {
    await expect(inTime(read(coming(8 * 1024, 4_000)))).resolves.toBe(196 * 1024)
    await expect(inTime(read(coming(1024, 1), 9_000))).resolves.toBe(112 * 1024)
  })
})

test('a body that its client aborts is rejected with 400', async () => {
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('aborted')) })
  const { enter } = budget()
  await expect(new Response(withinBudget(body, enter('acme', large))).text()).rejects.toMatchObject({ status: 400 })
  const caller: MiddlewareHandler<AppEnv> = (c, next) => {
    c.set('caller', OPEN_CALLER)
    return next()
  }
  const app = new Hono<AppEnv>().use(caller, requestBody(createBodyBudget()))
  let status: unknown
  app.onError((error, c) => {
    status = (error as { readonly status?: unknown }).status
    return c.text('')
  })
  const left = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('aborted')) })
  await app.request('/', { method: 'POST', body: left, duplex: 'half' } as RequestInit)
  expect(status).toBe(400)
})

test('a body refused for lack of budget is logged as a warning, and a failure as an error', async () => {
  const lines: unknown[] = []
  const log = {
    info: () => undefined,
    warn: (message: string, fields: object = {}) => void lines.push({ level: 'warn', message, ...fields }),
    error: (message: string, cause: unknown) => void lines.push({ level: 'error', message, cause }),
  }
  const { enter } = budget()
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
    { level: 'warn', message: 'request refused', code: 'busy', reason: expect.stringContaining('retry in') },
    { level: 'error', message: 'request failed', cause: failure },
  ])
})
