import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestRate } from '../../functions/domain/keys/request-rate.ts'
import type { ApiKey } from '../../functions/domain/keys/api-key.ts'
import { fresh } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for API keys: the hash of the secret finds the key until it is revoked. */
export function keyStoreContract(engine: Engine): void {
  describe(`key store on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
    const keyOf = (key: Partial<ApiKey> = {}): ApiKey => ({
      id: fresh('key'),
      tenant: fresh('tenant'),
      scopes: ['read', 'write'],
      caps: {},
      createdAt: stores.clock.now(),
      ...key,
    })

    test('every process finds a key by its hash, with all its fields', async () => {
      const key = keyOf({ owner: 'ada 😀\ud83d', caps: { requestsPerSecond: 0.5, activeRuns: 3 }, scopes: ['admin'] })
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      expect(await stores.keys.find(hash)).toEqual(key)
      expect(await stores.peer.keys.find(hash)).toEqual(key)
    })

    test('an unknown hash is not found', async () => {
      expect(await stores.keys.find(hashOf(fresh('secret')))).toBeUndefined()
    })

    test('a duplicate hash is rejected, and the first key stays unchanged', async () => {
      const [first, second] = [keyOf(), keyOf()]
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, first)
      await expect(stores.keys.create(hash, second)).rejects.toThrow()
      expect(await stores.keys.find(hash)).toEqual(first)
    })

    test('a revoked key is no longer found, but still listed; revoking it again changes nothing', async () => {
      const key = keyOf()
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      expect(await stores.keys.revoke(key.id, stores.clock.now() + 5)).toBe(true)
      expect(await stores.peer.keys.find(hash)).toBeUndefined()
      expect(await stores.keys.list(key.tenant)).toEqual([{ ...key, revokedAt: stores.clock.now() + 5 }])
      await stores.keys.revoke(key.id, stores.clock.now() + 99)
      expect(await stores.keys.list(key.tenant)).toEqual([{ ...key, revokedAt: stores.clock.now() + 5 }])
    })

    test('revoking an unknown key returns false', async () => {
      expect(await stores.keys.revoke(fresh('key'), stores.clock.now())).toBe(false)
    })

    test('a key keeps its name and its expiry, and is found after its expiry', async () => {
      const key = keyOf({ name: 'nightly "import" 😀', expiresAt: stores.clock.now() - 1 })
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      expect(await stores.peer.keys.find(hash)).toEqual(key)
      expect(await stores.keys.list(key.tenant)).toEqual([key])
    })

    test('`cap` sets and removes the named caps and keeps the others, in every process and in lists', async () => {
      const key = keyOf({ caps: { requestsPerSecond: 9, activeRuns: 3 }, owner: 'ada' })
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      const changed = { ...key, caps: { activeRuns: 3, tokensPerDay: 7 } }
      const change = { requestsPerSecond: null, tokensPerDay: 7, openCalls: undefined }
      expect(await stores.peer.keys.cap(key.id, change)).toEqual(changed)
      expect(await stores.keys.find(hash)).toEqual(changed)
      expect(await stores.keys.list(key.tenant)).toEqual([changed])
    })

    test('concurrent changes of different caps are all kept', async () => {
      const key = keyOf()
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      const changes = [{ requestsPerSecond: 1 }, { activeRuns: 2 }, { openCalls: 3 }, { tokensPerDay: 4 }]
      await Promise.all(changes.map((change, n) => (n % 2 ? stores : stores.peer).keys.cap(key.id, change)))
      const caps = { requestsPerSecond: 1, activeRuns: 2, openCalls: 3, tokensPerDay: 4 }
      expect(await stores.keys.find(hash)).toEqual({ ...key, caps })
    })

    test('`cap` returns undefined for unknown and revoked keys, and changes nothing', async () => {
      const key = keyOf({ caps: { activeRuns: 3 } })
      await stores.keys.create(hashOf(fresh('secret')), key)
      await stores.keys.revoke(key.id, stores.clock.now())
      expect(await stores.keys.cap(key.id, { activeRuns: 1 })).toBeUndefined()
      expect(await stores.keys.cap(fresh('key'), { activeRuns: 1 })).toBeUndefined()
      expect(await stores.keys.list(key.tenant)).toEqual([{ ...key, revokedAt: stores.clock.now() }])
    })

    test('lists show when a key was last used, and show no time for unused keys', async () => {
      const tenant = fresh('tenant')
      const [used, unused] = [keyOf({ tenant, createdAt: 1 }), keyOf({ tenant, createdAt: 2 })]
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, used)
      await stores.keys.create(hashOf(fresh('secret')), unused)
      const now = stores.clock.now()
      await Promise.all(
        [now, now + 9, now + 3].map((time, n) => (n % 2 ? stores : stores.peer).keys.used(used.id, time)),
      )
      expect(await stores.keys.list(tenant)).toEqual([{ ...used, lastUsedAt: now + 9 }, unused])
      expect(await stores.keys.cap(used.id, { activeRuns: 1 })).toMatchObject({ id: used.id })
      expect(await stores.keys.list(tenant)).toMatchObject([{ lastUsedAt: now + 9, caps: { activeRuns: 1 } }, unused])
    })

    test('a list contains the keys of one tenant, or of all tenants', async () => {
      const tenant = fresh('tenant')
      const keys = [keyOf({ tenant }), keyOf({ tenant }), keyOf()]
      for (const key of keys) await stores.keys.create(hashOf(key.id), key)
      const ids = (found: readonly ApiKey[]): string[] => found.map((key) => key.id).toSorted()
      expect(ids(await stores.keys.list(tenant))).toEqual(ids(keys.slice(0, 2)))
      expect(ids(await stores.keys.list())).toEqual(expect.arrayContaining(ids(keys)))
    })

    test('requests over the rate get a retry time in every process, and are accepted after that time', async () => {
      const id = fresh('key')
      const rate = requestRate(4)
      const now = stores.clock.now()
      const taken = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 ? stores : stores.peer).keys.take(id, rate, now)),
      )
      expect(taken.filter((wait) => wait === 0)).toHaveLength(4)
      expect(new Set(taken.filter((wait) => wait > 0))).toEqual(new Set([250]))
      expect(await stores.keys.take(id, rate, now + 249)).toBe(1)
      expect(await stores.keys.take(id, rate, now + 250)).toBe(0)
      expect(await stores.keys.take(id, rate, now + 251)).toBeGreaterThan(0)
      expect(await stores.keys.take(fresh('other'), rate, now)).toBe(0)
    })

    test('an idle key may send the requests of one second at once, and always at least one request', async () => {
      const now = stores.clock.now()
      const burst = async (requestsPerSecond: number): Promise<number> => {
        const id = fresh('key')
        const rate = requestRate(requestsPerSecond)
        await stores.keys.take(id, rate, now)
        let allowed = 0
        while ((await stores.keys.take(id, rate, now + 3_600_000)) === 0) allowed++
        return allowed
      }
      expect([await burst(6), await burst(2.5), await burst(1), await burst(0.1)]).toEqual([6, 2, 1, 1])
    })

    test('all processes share the request slots of a key; closing a request frees a slot', async () => {
      const id = fresh('key')
      const now = stores.clock.now()
      const of = (n: number) => (n % 2 ? stores : stores.peer).keys
      const place = (call: number) => ({ call: `call ${call}`, most: 4, until: now + 1_000 })
      const entered = await Promise.all(Array.from({ length: 12 }, (_, n) => of(n).enter(id, place(n), now)))
      expect(entered.filter(Boolean)).toHaveLength(4)
      expect(await stores.keys.enter(fresh('other'), place(0), now)).toBe(true)
      const [first = -1, ...others] = entered.flatMap((is, call) => (is ? [call] : []))
      await of(first + 1).leave(id, place(first).call)
      await of(first).leave(id, place(first).call)
      await stores.keys.leave(id, 'never entered')
      await stores.keys.leave(fresh('other'), 'never entered')
      expect([await of(0).enter(id, place(20), now), await of(1).enter(id, place(21), now)]).toEqual([true, false])
      for (const call of [...others, 20]) await stores.keys.leave(id, place(call).call)
      const again = await Promise.all(Array.from({ length: 12 }, (_, n) => of(n).enter(id, place(30 + n), now)))
      expect(again.filter(Boolean)).toHaveLength(4)
    })

    test('a slot expires at the deadline of its request, and a renewal moves the deadline', async () => {
      const id = fresh('key')
      const now = stores.clock.now()
      const enter = (call: string, from: number, most = 2) =>
        stores.keys.enter(id, { call, most, until: now + from + 1_000 }, now + from)
      expect([await enter('a', 0), await enter('b', 0), await enter('c', 999)]).toEqual([true, true, false])
      expect(await enter('a', 900)).toBe(true)
      expect([await enter('c', 1_000), await enter('d', 1_000)]).toEqual([true, false])
      // A process whose slot has expired gets the slot back only if the number of slots is below the cap.
      expect(await enter('b', 1_000)).toBe(false)
      expect([await enter('b', 1_900), await enter('d', 1_900)]).toEqual([true, false])
      // A slot above a reduced cap stays valid.
      expect([await enter('b', 1_950, 1), await enter('e', 1_950, 1)]).toEqual([true, false])
    })

    test('the slots of many killed processes become free after their expiry', async () => {
      const id = fresh('key')
      const now = stores.clock.now()
      const enter = (call: string, from: number) =>
        stores.keys.enter(id, { call: `${call} ${'x'.repeat(40)}`, most: 130, until: now + from + 1_000 }, now + from)
      for (let call = 0; call < 130; call += 10)
        await Promise.all(Array.from({ length: 10 }, (_, n) => enter(`old ${call + n}`, 0)))
      expect(await enter('one more', 500)).toBe(false)
      const entered = await Promise.all(Array.from({ length: 8 }, (_, n) => enter(`new ${n}`, 1_000)))
      expect(entered).toEqual(Array.from({ length: 8 }, () => true))
      let more = 0
      while (await enter(`more ${more}`, 1_000)) more++
      expect(more).toBe(122)
    })

    test('the store remembers that a key has ever existed', async () => {
      const key = keyOf()
      await stores.keys.create(hashOf(key.id), key)
      await stores.keys.revoke(key.id, stores.clock.now())
      expect(await stores.peer.keys.any()).toBe(true)
    })
  })

  describe(`key store on ${engine.name} that fails`, () => {
    test('a failing store rejects: no request passes as if there were no keys', async () => {
      const stores = await engine.open()
      await stores.breakDown()
      await expect(stores.keys.find('0'.repeat(64))).rejects.toThrow()
      await expect(stores.keys.any()).rejects.toThrow()
      await expect(stores.keys.take('key', requestRate(1), 0)).rejects.toThrow()
      await expect(stores.keys.enter('key', { call: 'c', most: 1, until: 1 }, 0)).rejects.toThrow()
      await expect(stores.keys.leave('key', 'c')).rejects.toThrow()
      await expect(stores.keys.list()).rejects.toThrow()
      await expect(stores.keys.cap('key', { activeRuns: 1 })).rejects.toThrow()
      await expect(stores.keys.used('key', 0)).rejects.toThrow()
      await stores.close()
    })
  })
}
