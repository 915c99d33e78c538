/* Evidence, limits: Pages, runs and contexts are built two at a time, and concurrent equal requests share one result. */
import { expect, test } from 'vitest'
import { createBuilds } from '../../../functions/http/streaming/document-queue.ts'

test('two long documents are built at a time, and requests that arrive before a build starts share it', async () => {
  const { build } = createBuilds()
  let inFlight = 0
  let most = 0
  let made = 0
  const make = async () => {
    most = Math.max(most, ++inFlight)
    await new Promise((resolve) => setImmediate(resolve))
    inFlight--
    return ++made
  }
  const same = Array.from({ length: 20 }, () => build('a', 'same', make))
  const others = Array.from({ length: 10 }, (_, at) => build('a', `other ${at}`, make))
  await Promise.all([...same, ...others])
  expect(most).toBe(2)
  expect(made).toBe(11)
  expect(new Set(await Promise.all(same)).size).toBe(1)
})

test('a request after the start of a build gets a new build, because the data may have changed', async () => {
  const { build } = createBuilds()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const first = build('a', 'one', async () => {
    begin()
    await held
    return 1
  })
  await begun
  const second = build('a', 'one', async () => 2)
  letGo()
  expect(await Promise.all([first, second])).toEqual([1, 2])
})

test('a build that fails does not affect other builds', async () => {
  const { build } = createBuilds()
  const broken = Array.from({ length: 4 }, (_, at) => build('a', `broken ${at}`, () => Promise.reject(new Error('no'))))
  const whole = build('a', 'whole', async () => 'whole')
  expect((await Promise.allSettled(broken)).every(({ status }) => status === 'rejected')).toBe(true)
  expect(await whole).toBe('whole')
})

test('documents of two tenants are built alternately, even if one tenant requests more of them', async () => {
  const { build } = createBuilds(1)
  const order: string[] = []
  const ask = (tenant: string, name: string) => build(tenant, name, async () => void order.push(`${tenant} ${name}`))
  await Promise.all([
    ...['1', '2', '3', '4'].map((name) => ask('much', name)),
    ...['1', '2'].map((name) => ask('little', name)),
  ])
  expect(order).toEqual(['much 1', 'much 2', 'little 1', 'much 3', 'little 2', 'much 4'])
})
