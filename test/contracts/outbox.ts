import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { Delivery } from '../../functions/domain/delivery.ts'
import { fresh, newRun, openFixture, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const WEEK_MS = 7 * 86_400_000
const target = { url: 'https://example.test/ü', lone: '\ud83d' }
const delivery = { kind: 'paper', target }

/** Opens a session whose run has a pending delivery. */
async function openOwing(stores: Stores): Promise<{ fixture: SessionFixture; found: Delivery }> {
  const fixture = await openFixture(stores)
  const { run } = await startRun(fixture, { delivery })
  const found = await fixture.outbox.read({ ...fixture.key, id: run.id })
  if (found === undefined) throw new Error('the delivery was not stored')
  return { fixture, found }
}

const dueIds = async ({ outbox, clock, key }: SessionFixture, now = clock.now()): Promise<string[]> =>
  (await outbox.due(now, 1_000)).flatMap(({ key: { tenant, id } }) => (tenant === key.tenant ? [id] : []))

/** Contract for the outbox: deliveries are durable before anything is sent. */
export function outboxContract(engine: Engine): void {
  describe(`the outbox on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a delivery exists with its run, whether the run starts at once or is queued', async () => {
      const { fixture, found } = await openOwing(stores)
      expect(found).toMatchObject({ ...fixture.key, ...delivery, status: 'pending', state: {}, failures: 0 })
      expect(found.createdAt).toBe(fixture.clock.now())
      expect(await fixture.reader.run(fixture.key, found.id)).toMatchObject({ delivery: 'paper' })
      const queued = await fixture.inbox.enqueue(fixture.key, newRun({ delivery }))
      expect(await fixture.peer.outbox.read({ ...fixture.key, id: queued.runId })).toMatchObject({ target })
      const pending = async (limit: number, after?: string): Promise<string[]> =>
        (await fixture.outbox.pending(fixture.key, limit, after)).map(({ id }) => id)
      expect(await pending(10)).toEqual([found.id, queued.runId])
      const more = `${found.id}.1`
      await fixture.outbox.add({ ...fixture.key, id: more }, delivery, {})
      expect(await pending(2)).toEqual([found.id, more])
      expect(await pending(2, found.id)).toEqual([more, queued.runId])
      expect(await pending(2, queued.runId)).toEqual([])
    })

    test('a repeated run adds no second delivery, and a rejected run adds none', async () => {
      const fixture = await openFixture(stores)
      const idempotency = { keyHash: fresh('key'), bodyHash: 'b' }
      const first = await fixture.inbox.enqueue(fixture.key, newRun({ delivery, idempotency }))
      const second = await fixture.inbox.enqueue(fixture.key, newRun({ delivery, idempotency }))
      expect(second).toMatchObject({ runId: first.runId, repeated: true })
      await fixture.inbox.enqueue(fixture.key, newRun({ delivery, onBusy: 'reject' })).catch(() => undefined)
      expect(await fixture.outbox.pending(fixture.key, 10)).toHaveLength(1)
    })

    test('one of two concurrent changes of a delivery succeeds, and a stale change is refused', async () => {
      const { fixture, found } = await openOwing(stores)
      const changes = await Promise.all([
        fixture.outbox.change(found, { state: { part: 1 }, owner: 'one' }),
        fixture.peer.outbox.change(found, { state: { part: 2 }, owner: 'two' }),
      ])
      const [done] = changes.filter((one) => one !== undefined)
      expect(changes.filter((one) => one !== undefined)).toHaveLength(1)
      const now = await fixture.outbox.read(found)
      expect(now).toEqual(done)
      expect(await fixture.outbox.change(found, { owner: null })).toBeUndefined()
      expect(await fixture.outbox.read(found)).toEqual(now)
    })

    test('a change keeps unnamed fields, and null removes a field', async () => {
      const { fixture, found } = await openOwing(stores)
      const claimed = await fixture.outbox.change(found, { owner: 'one', due: 5, hinted: true, failures: 2, begun: 3 })
      const { mark: _, ...before } = claimed as Delivery
      expect(before).toEqual({
        ...before,
        owner: 'one',
        due: 5,
        hinted: true,
        failures: 2,
        begun: 3,
        target,
        state: {},
      })
      const over = await fixture.outbox.change(
        claimed as Delivery,
        {
          ...{ status: 'delivered', owner: null, due: null, hinted: null, begun: null },
        } as const,
      )
      expect(over).not.toHaveProperty('owner')
      expect(over).not.toHaveProperty('begun')
      expect(over).not.toHaveProperty('due')
      expect(await fixture.peer.outbox.read(found)).toEqual(over)
      expect(await fixture.outbox.pending(fixture.key, 10)).toEqual([])
    })

    test('pending deliveries are found oldest first, without ended deliveries unless these became pending again', async () => {
      const { fixture, found } = await openOwing(stores)
      const over: Delivery[] = []
      for (let at = 1; at <= 5; at++) {
        const key = { ...fixture.key, id: `${found.id}.${at}` }
        await fixture.outbox.add(key, delivery, {})
        const one = (await fixture.outbox.read(key)) as Delivery
        const claimed = (await fixture.outbox.change(one, { owner: 'one', due: 5 })) as Delivery
        over.push((await fixture.peer.outbox.change(claimed, { status: 'failed', owner: null, due: null })) as Delivery)
      }
      const pending = async (limit: number) =>
        (await fixture.peer.outbox.pending(fixture.key, limit)).map(({ id }) => id)
      expect(await pending(10)).toEqual([found.id])
      const [, second, , fourth] = over as [Delivery, Delivery, Delivery, Delivery]
      for (const one of [fourth, second]) await fixture.outbox.change(one, { status: 'pending', due: 5 })
      expect(await pending(10)).toEqual([found.id, second.id, fourth.id])
      expect(await pending(2)).toEqual([found.id, second.id])
      // Refused, because another process has changed the delivery after this one was read.
      expect(await fixture.outbox.change(second, { status: 'delivered' })).toBeUndefined()
      expect(await pending(10)).toEqual([found.id, second.id, fourth.id])
    })

    test('due deliveries are found by time, but not after they ended or were postponed', async () => {
      const { fixture, found } = await openOwing(stores)
      const now = fixture.clock.now()
      expect(await dueIds(fixture)).toEqual([])
      await expect.poll(() => dueIds(fixture, now + WEEK_MS)).toEqual([found.id])
      const later = (await fixture.outbox.change(found, { due: now + 2 * WEEK_MS })) as Delivery
      await expect.poll(() => dueIds(fixture, now + WEEK_MS)).toEqual([])
      expect(await dueIds(fixture, now + 2 * WEEK_MS)).toEqual([found.id])
      await fixture.outbox.change(later, { status: 'failed', due: null })
      await expect.poll(() => dueIds(fixture, now + 2 * WEEK_MS)).toEqual([])
    })

    test('a run can add further deliveries under their own ids, once, and only in live sessions', async () => {
      const { fixture, found } = await openOwing(stores)
      const key = { ...fixture.key, id: `${found.id}.1` }
      expect(await fixture.outbox.add(key, delivery, { at: 1 })).toBe(true)
      expect(await fixture.outbox.add(key, delivery, { at: 2 })).toBe(false)
      expect(await fixture.outbox.read(key)).toMatchObject({ state: { at: 1 }, status: 'pending' })
      await fixture.deletion.tombstone(fixture.key)
      expect(await fixture.outbox.add({ ...key, id: `${found.id}.2` }, delivery, {})).toBe(false)
    })

    test('lists contain one tenant and kind, newest first, filtered by session and status, in pages', async () => {
      const { fixture, found } = await openOwing(stores)
      const { tenant, session } = fixture.key
      const ids = [found.id]
      for (let at = 1; at <= 4; at++) {
        ids.push(`${found.id}.${at}`)
        await fixture.outbox.add({ ...fixture.key, id: `${found.id}.${at}` }, delivery, {})
      }
      await fixture.outbox.add({ ...fixture.key, id: `${found.id}.9` }, { ...delivery, kind: 'other' }, {})
      await fixture.outbox.change(found, { status: 'delivered', due: null })
      const list = async (filter: object): Promise<string[]> => {
        const seen: string[] = []
        for (let after: string | undefined, more = true; more;) {
          const page = { tenant, kind: 'paper', limit: 2, ...filter, ...definedFields({ after }) }
          const { deliveries, next } = await fixture.outbox.list(page)
          expect(deliveries.length).toBeLessThanOrEqual(2)
          seen.push(...deliveries.map(({ id }) => id))
          after = next
          more = next !== undefined
        }
        return seen
      }
      expect(await list({ session })).toEqual(ids.toReversed())
      await expect.poll(() => list({})).toEqual(ids.toReversed())
      expect(await list({ status: 'delivered' })).toEqual([found.id])
      expect(await list({ session, status: 'pending' })).toEqual(ids.slice(1).toReversed())
      expect(await list({ session: 'another' })).toEqual([])
      expect(await list({ tenant: fresh('tenant') })).toEqual([])
    })

    test('a list of one owner has only that owner’s deliveries, and only their ids as cursors', async () => {
      const tenant = fresh('tenant')
      const mine: string[] = []
      for (const owner of ['ann', 'bob', undefined, 'ann', 'bob']) {
        const fixture = await openFixture(stores, { tenant, ...definedFields({ owner }) })
        const { run } = await startRun(fixture, { delivery })
        await fixture.outbox.add({ ...fixture.key, id: `${run.id}.1` }, delivery, {})
        if (owner === 'ann') mine.push(run.id, `${run.id}.1`)
      }
      const list = (owner: string, filter: object = {}) =>
        stores.peer.outbox.list({ tenant, kind: 'paper', owner, limit: 3, ...filter })
      const idsOf = async (filter: object) => (await list('ann', filter)).deliveries.map(({ id }) => id)
      await expect.poll(() => idsOf({ limit: 10 })).toEqual(mine.toReversed())
      const first = await list('ann')
      expect(first.next).toBe(mine[1])
      const last = await list('ann', { after: first.next })
      expect([last.deliveries.map(({ id }) => id), last.next]).toEqual([[mine[0]], undefined])
      expect(await list('ann', { limit: 4 })).not.toHaveProperty('next')
      expect(await idsOf({ status: 'failed' })).toEqual([])
      expect(await list('eve')).toEqual({ deliveries: [] })
      expect((await list('ann', { kind: 'other' })).deliveries).toEqual([])
    })

    test('a delivery is stored even if its target has 370 KB, the size of the longest Slack message', async () => {
      const { fixture } = await openOwing(stores)
      const long = { kind: 'paper', target: { text: '語'.repeat(80_000), files: '\u0001'.repeat(20_000) } }
      const key = { ...fixture.key, id: '0.1' }
      expect(await fixture.outbox.add(key, long, {})).toBe(true)
      expect(await fixture.peer.outbox.read(key)).toMatchObject(long)
    })

    test('a delivery is found by its id within its tenant and kind', async () => {
      const { fixture, found } = await openOwing(stores)
      const find = (tenant: string, kind: string) => fixture.outbox.find(tenant, kind, found.id)
      await expect.poll(() => find(fixture.key.tenant, 'paper')).toEqual(found)
      expect(await find(fixture.key.tenant, 'other')).toBeUndefined()
      expect(await find(fresh('tenant'), 'paper')).toBeUndefined()
    })

    test('deliveries are deleted with their session, and never restored', async () => {
      const { fixture, found } = await openOwing(stores)
      await fixture.deletion.tombstone(fixture.key)
      while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      expect(await fixture.outbox.change(found, { status: 'delivered' })).toBeUndefined()
      expect(await fixture.outbox.read(found)).toBeUndefined()
      await expect.poll(() => dueIds(fixture, fixture.clock.now() + WEEK_MS)).toEqual([])
      expect(await fixture.outbox.find(fixture.key.tenant, 'paper', found.id)).toBeUndefined()
    })
  })
}
