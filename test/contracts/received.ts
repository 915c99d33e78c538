import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fresh } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const DAY_MS = 86_400_000

/** Contract for detecting repeated deliveries. */
export function receivedContract(engine: Engine): void {
  describe(`received values on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('within a tenant, each name keeps the first value stored under that name', async () => {
      const { received, peer, clock } = stores
      const [tenant, until] = [fresh('tenant'), clock.now() + DAY_MS]
      expect(await received.remember(tenant, ['id ü', 'body'], 'first', until)).toBe('first')
      expect(await peer.received.remember(tenant, ['id ü', 'other'], 'second', until)).toBe('first')
      expect(await received.remember(tenant, ['another', 'body'], 'third', until)).toBe('first')
      expect(await received.remember(tenant, ['another'], 'fourth', until)).toBe('fourth')
      expect(await received.remember(fresh('tenant'), ['id ü'], 'foreign', until)).toBe('foreign')
    })

    test('forgetting a value removes it from the given names, and keeps any other value of these names', async () => {
      const { received, peer, clock } = stores
      const [tenant, until] = [fresh('tenant'), clock.now() + DAY_MS]
      await received.remember(tenant, ['id', 'body'], 'first', until)
      await peer.received.forget(tenant, ['id', 'body'], 'second')
      expect(await received.remember(tenant, ['id'], 'third', until)).toBe('first')
      await peer.received.forget(tenant, ['id', 'body'], 'first')
      expect(await received.remember(tenant, ['body'], 'fourth', until)).toBe('fourth')
    })

    test('a value is forgotten after its expiry', async () => {
      const { received, clock } = stores
      const tenant = fresh('tenant')
      await received.remember(tenant, ['id'], 'first', clock.now() + DAY_MS)
      clock.advance(DAY_MS)
      expect(await received.remember(tenant, ['id'], 'second', clock.now() + DAY_MS)).toBe('first')
      clock.advance(1)
      expect(await received.remember(tenant, ['id'], 'third', clock.now() + DAY_MS)).toBe('third')
    })

    test('only one of several concurrent deliveries counts as new, and all get the same answer', async () => {
      const { received, peer, clock } = stores
      const tenant = fresh('tenant')
      const values = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 === 0 ? received : peer.received).remember(tenant, ['id', 'body'], `value ${n}`, clock.now() + DAY_MS),
        ),
      )
      expect(new Set(values).size).toBe(1)
    })
  })
}
