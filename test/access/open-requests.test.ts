/* Evidence, limits: A tenant with many keys can open at most half of a process's streams. */
/* Evidence, limits: A key's streams are counted over all processes; a killed process's slots are released within
 * five minutes. */
import { expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { createOpenRequests } from '../../functions/access/open-requests.ts'
import type { Caller } from '../../functions/access/caller.ts'
import type { ApiKey } from '../../functions/domain/keys/api-key.ts'

const key = (id: string, tenant = 't'): ApiKey => ({ id, tenant, scopes: ['read'], caps: {}, createdAt: 0 })
const caller = (id: string, tenant = 't', caps: ApiKey['caps'] = {}): Caller => ({
  tenant,
  scopes: ['read'],
  key: { ...key(id, tenant), caps },
  secretHash: id,
})

/**
 * Creates the open requests of one process. `places` contains the slots of all processes: for each key and request, the time at
 * which the slot expires.
 */
function open(places = new Map<string, number>()) {
  const good = new Set(['one', 'two'])
  const sleeps: { readonly milliseconds: number; wake(): void }[] = []
  const errors: unknown[] = []
  let failing = false
  let silent = false
  let entered = 0
  let now = 0
  let expiresAt: number | undefined
  const calls = createOpenRequests({
    keys: {
      find: async (hash) => {
        if (failing) throw new Error('the storage is gone')
        return good.has(hash) ? { ...key(hash), ...definedFields({ expiresAt }) } : undefined
      },
      async enter(id, { call, most, until }) {
        entered++
        if (failing) throw new Error('the storage is gone')
        if (silent) await new Promise(() => undefined)
        const place = `${id}/${call}`
        const taken = [...places.keys()].filter((one) => one.startsWith(`${id}/`) && one !== place)
        if (taken.length < most) places.set(place, until)
        return taken.length < most
      },
      async leave(id, call) {
        if (failing) throw new Error('the storage is gone')
        places.delete(`${id}/${call}`)
      },
    },
    clock: {
      now: () => now,
      sleep: (milliseconds, signal) =>
        new Promise((resolve, reject) => {
          sleeps.push({ milliseconds, wake: resolve })
          signal?.addEventListener('abort', () => reject(new Error('aborted')))
        }),
    },
    log: { info: () => undefined, warn: () => undefined, error: (_text, error) => void errors.push(error) },
  })
  const look = async (): Promise<void> => {
    sleeps.at(-1)?.wake()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return {
    calls,
    good,
    sleeps,
    errors,
    look,
    entered: () => entered,
    fail: (on: boolean) => (failing = on),
    fallSilent: () => (silent = true),
    pass: (by: number) => (now += by),
    expireAt: (time: number) => (expiresAt = time),
  }
}

test('a request ends within 10 s after its key is revoked, and requests of other keys continue', async () => {
  const { calls, good, sleeps, look } = open()
  const [one, again, two, absent] = [caller('one'), caller('one'), caller('two'), caller('none')]
  const opened = await Promise.all([one, again, two].map((who) => calls.open(who)))
  const keyless = await calls.open({ tenant: 'default', scopes: absent.scopes })
  await look()
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([false, false, false])
  good.delete('one')
  await look()
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
  expect(keyless.signal.aborted).toBe(false)
  for (const { milliseconds } of sleeps) expect(milliseconds).toBeLessThanOrEqual(5_000)
})

test('a request ends after its key has expired', async () => {
  const { calls, look, pass, expireAt } = open()
  expireAt(1_000)
  const { signal } = await calls.open(caller('one'))
  pass(999)
  await look()
  expect(signal.aborted).toBe(false)
  pass(1)
  await look()
  expect(signal.aborted).toBe(true)
})

test('requests stay open while the store cannot respond, and the store is asked again', async () => {
  const { calls, good, errors, look, fail } = open()
  const { signal } = await calls.open(caller('one'))
  good.delete('one')
  fail(true)
  await look()
  expect([signal.aborted, errors.length]).toEqual([false, 1])
  fail(false)
  await look()
  expect(signal.aborted).toBe(true)
})

test('a key has at most 256 open requests, and a request that is closed twice frees one slot', async () => {
  const { calls } = open()
  const mine = await Promise.all(Array.from({ length: 256 }, () => calls.open(caller('one'))))
  await expect(calls.open(caller('one'))).rejects.toThrow(/key one has 256/)
  await mine[0]?.close()
  await mine[0]?.close()
  await calls.open(caller('one'))
  await expect(calls.open(caller('one'))).rejects.toThrow(/key one has 256/)
})

test('one tenant uses at most half of the slots of a process, with any number of keys', async () => {
  const { calls } = open()
  const many = (tenant: string, keys: number) =>
    Promise.all(Array.from({ length: keys * 256 }, (_, at) => calls.open(caller(`${tenant}-${at % keys}`, tenant))))
  const [first] = await many('t', 4)
  await expect(calls.open(caller('t-more', 't'))).rejects.toThrow(/tenant t has 1024/)
  await expect(calls.open({ tenant: 't', scopes: ['read'] })).rejects.toThrow(/tenant t has 1024/)
  const others = await many('other', 4)
  await expect(calls.open(caller('third', 'third'))).rejects.toThrow(/this server has 2048/)
  await first?.close()
  await first?.close()
  await calls.open(caller('third', 'third'))
  await expect(calls.open(caller('third', 'third'))).rejects.toThrow(/this server has 2048/)
  for (const call of others) await call.close()
  await calls.open(caller('t-more', 't'))
  await expect(calls.open(caller('t-more', 't'))).rejects.toThrow(/tenant t has 1024/)
})

test('a watched request uses no slot, and ends when its key is revoked', async () => {
  const { calls, good, sleeps, look } = open()
  const watched = Array.from({ length: 3_000 }, () => calls.watch(caller('one')))
  const opened = await calls.open(caller('one'))
  good.delete('one')
  await look()
  expect([...watched, opened].every(({ signal }) => signal.aborted)).toBe(true)
  for (const call of [...watched, opened]) await call.close()
  await look()
  expect(sleeps).toHaveLength(2)
})

test('the limit of a key counts requests of all processes, and every process can use a freed slot', async () => {
  const places = new Map<string, number>()
  const [here, there] = [open(places), open(places)]
  const mine = caller('one', 't', { openCalls: 2 })
  const first = await here.calls.open(mine)
  const second = await there.calls.open(mine)
  await expect(here.calls.open(mine)).rejects.toThrow(/key one has 2 streams/)
  await expect(there.calls.open(mine)).rejects.toThrow(/key one has 2 streams/)
  await there.calls.open(caller('two', 't', { openCalls: 2 }))
  await second.close()
  await second.close()
  await here.calls.open(mine)
  await expect(there.calls.open(mine)).rejects.toThrow(/key one has 2 streams/)
  await first.close()
  expect([...places.keys()].filter((place) => place.startsWith('one/'))).toHaveLength(1)
})

test('a request that is refused because of its key’s limit uses no slot of its tenant', async () => {
  const { calls } = open()
  const mine = caller('one', 't', { openCalls: 1 })
  await calls.open(mine)
  for (let at = 0; at < 1_100; at++) await expect(calls.open(mine)).rejects.toThrow(/key one has 1 stream or/)
  await calls.open(caller('two'))
})

test('a slot remains taken until its request ends', async () => {
  const places = new Map<string, number>()
  const { calls, look, pass, fail, errors } = open(places)
  const call = await calls.open(caller('one', 't', { openCalls: 1 }))
  const ends: (number | undefined)[] = []
  for (const by of [10_000, 145_000, 10_000, 145_000]) {
    pass(by)
    await look()
    ends.push([...places.values()][0])
  }
  expect(ends).toEqual([300_000, 455_000, 455_000, 610_000])
  fail(true)
  pass(200_000)
  await look()
  await call.close()
  expect(errors.length).toBeGreaterThan(1)
  fail(false)
  pass(200_000)
  await look()
  expect([...places.values()]).toEqual([610_000])
})

test('requests of a revoked key end even while the renewal of another key’s slot hangs', async () => {
  const { calls, good, look, pass, fallSilent } = open()
  await calls.open(caller('one', 't', { openCalls: 1 }))
  const { signal } = await calls.open(caller('two'))
  fallSilent()
  pass(200_000)
  await look()
  good.delete('two')
  await look()
  expect(signal.aborted).toBe(true)
})

test('slots are renewed one at a time, and the renewal yields to other work', async () => {
  const { calls, sleeps, pass, entered } = open()
  await Promise.all(Array.from({ length: 100 }, () => calls.open(caller('one', 't', { openCalls: 100 }))))
  pass(200_000)
  sleeps.at(-1)?.wake()
  const before = entered()
  for (let turn = 1; entered() < before + 100; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    expect(entered() - before).toBeLessThanOrEqual(turn + 1)
  }
})
