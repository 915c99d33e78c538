import { expect, test } from 'vitest'
import { createOpenCalls } from '../../functions/access/open-calls.ts'
import type { Caller } from '../../functions/access/caller.ts'
import type { ApiKey } from '../../functions/domain/api-key.ts'

const key = (id: string, tenant = 't'): ApiKey => ({ id, tenant, scopes: ['read'], caps: {}, createdAt: 0 })
const caller = (id: string, tenant = 't'): Caller => ({
  tenant,
  scopes: ['read'],
  key: key(id, tenant),
  secretHash: id,
})

function open() {
  const good = new Set(['one', 'two'])
  const sleeps: { readonly milliseconds: number; wake(): void }[] = []
  const errors: unknown[] = []
  let failing = false
  const calls = createOpenCalls({
    keys: {
      find: async (hash) => {
        if (failing) throw new Error('the storage is gone')
        return good.has(hash) ? key(hash) : undefined
      },
    },
    clock: {
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
  return { calls, good, sleeps, errors, look, fail: (now: boolean) => (failing = now) }
}

test('a call ends within 10 s of its key, and those of other keys go on', async () => {
  const { calls, good, sleeps, look } = open()
  const [one, again, two, nobody] = [caller('one'), caller('one'), caller('two'), caller('none')]
  const opened = [one, again, two].map((who) => calls.open(who))
  const keyless = calls.open({ tenant: 'default', scopes: nobody.scopes })
  await look()
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([false, false, false])
  good.delete('one')
  await look()
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
  expect(keyless.signal.aborted).toBe(false)
  for (const { milliseconds } of sleeps) expect(milliseconds).toBeLessThanOrEqual(5_000)
})

test('a store that cannot respond ends nothing, and is asked again', async () => {
  const { calls, good, errors, look, fail } = open()
  const { signal } = calls.open(caller('one'))
  good.delete('one')
  fail(true)
  await look()
  expect([signal.aborted, errors.length]).toEqual([false, 1])
  fail(false)
  await look()
  expect(signal.aborted).toBe(true)
})

test('a key has so many open at a time; one that closes makes room, once', () => {
  const { calls } = open()
  const mine = Array.from({ length: 256 }, () => calls.open(caller('one')))
  expect(() => calls.open(caller('one'))).toThrow(/key one has 256/)
  mine[0]?.close()
  mine[0]?.close()
  calls.open(caller('one'))
  expect(() => calls.open(caller('one'))).toThrow(/key one has 256/)
})

test('a tenant, however many keys it has, leaves half of the places to others, and a process has so many', () => {
  const { calls } = open()
  const many = (tenant: string, keys: number) =>
    Array.from({ length: keys * 256 }, (_, at) => calls.open(caller(`${tenant}-${at % keys}`, tenant)))
  const [first] = many('t', 4)
  expect(() => calls.open(caller('t-more', 't'))).toThrow(/tenant t has 1024/)
  expect(() => calls.open({ tenant: 't', scopes: ['read'] })).toThrow(/tenant t has 1024/)
  const others = many('other', 4)
  expect(() => calls.open(caller('third', 'third'))).toThrow(/this server has 2048/)
  first?.close()
  first?.close()
  calls.open(caller('third', 'third'))
  expect(() => calls.open(caller('third', 'third'))).toThrow(/this server has 2048/)
  for (const call of others) call.close()
  calls.open(caller('t-more', 't'))
  expect(() => calls.open(caller('t-more', 't'))).toThrow(/tenant t has 1024/)
})

test('what is watched takes no place, and ends with its key, too', async () => {
  const { calls, good, sleeps, look } = open()
  const watched = Array.from({ length: 3_000 }, () => calls.watch(caller('one')))
  const opened = calls.open(caller('one'))
  good.delete('one')
  await look()
  expect([...watched, opened].every(({ signal }) => signal.aborted)).toBe(true)
  for (const call of [...watched, opened]) call.close()
  await look()
  expect(sleeps).toHaveLength(2)
})
