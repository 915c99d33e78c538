import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestRate } from '../../functions/domain/request-rate.ts'
import type { ApiKey } from '../../functions/domain/api-key.ts'
import { fresh } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** API keys: found by the hash of their secret until they are revoked. */
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

    test('a key is found by its hash, whole, by every process', async () => {
      const key = keyOf({ owner: 'ada 😀\ud83d', caps: { requestsPerSecond: 0.5, activeRuns: 3 }, scopes: ['admin'] })
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, key)
      expect(await stores.keys.find(hash)).toEqual(key)
      expect(await stores.peer.keys.find(hash)).toEqual(key)
    })

    test('an unknown hash finds nothing', async () => {
      expect(await stores.keys.find(hashOf(fresh('secret')))).toBeUndefined()
    })

    test('a hash that is taken is refused, and the first key stays', async () => {
      const [first, second] = [keyOf(), keyOf()]
      const hash = hashOf(fresh('secret'))
      await stores.keys.create(hash, first)
      await expect(stores.keys.create(hash, second)).rejects.toThrow()
      expect(await stores.keys.find(hash)).toEqual(first)
    })

    test('a revoked key is not found from then on, but still listed; revoking it again changes nothing', async () => {
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

    test('a list holds the keys of one tenant, or of all', async () => {
      const tenant = fresh('tenant')
      const keys = [keyOf({ tenant }), keyOf({ tenant }), keyOf()]
      for (const key of keys) await stores.keys.create(hashOf(key.id), key)
      const ids = (found: readonly ApiKey[]): string[] => found.map((key) => key.id).toSorted()
      expect(ids(await stores.keys.list(tenant))).toEqual(ids(keys.slice(0, 2)))
      expect(ids(await stores.keys.list())).toEqual(expect.arrayContaining(ids(keys)))
    })

    test('requests beyond the rate are told when to come back, whichever process they come to, and then may', async () => {
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

    test('a key that was quiet may burst a second of its rate, not more; below one a second, one request', async () => {
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

    test('the store remembers that there was ever a key', async () => {
      const key = keyOf()
      await stores.keys.create(hashOf(key.id), key)
      await stores.keys.revoke(key.id, stores.clock.now())
      expect(await stores.peer.keys.any()).toBe(true)
    })
  })

  describe(`key store on ${engine.name} that fails`, () => {
    test('a store that cannot respond rejects: no request passes for a lack of keys', async () => {
      const stores = await engine.open()
      await stores.breakDown()
      await expect(stores.keys.find('0'.repeat(64))).rejects.toThrow()
      await expect(stores.keys.any()).rejects.toThrow()
      await expect(stores.keys.take('key', requestRate(1), 0)).rejects.toThrow()
      await expect(stores.keys.list()).rejects.toThrow()
      await stores.close()
    })
  })
}
