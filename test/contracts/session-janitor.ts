import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import type { DueSession } from '../../functions/ports/session-janitor.ts'
import { resolutionOf, endAfter, fresh, header, newRun, openFixture, pausedRun, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const DAY = 86_400_000
/** A limit above the number of sessions of one suite. */
const ALL = 10_000

/** Contract for scheduled work: finding due sessions, clearing due times of sessions without work, expiring sessions. */
export function sessionJanitorContract(engine: Engine): void {
  describe(`session janitor on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const isDue = async (fixture: SessionFixture): Promise<boolean> =>
      (await fixture.peer.janitor.due(fixture.clock.now(), ALL)).some(({ key }) => key.session === fixture.key.session)
    const dueOf = async (fixture: SessionFixture): Promise<DueSession | undefined> =>
      (await fixture.peer.janitor.due(fixture.clock.now(), ALL)).find(({ key }) => key.session === fixture.key.session)
    const isExpired = async (fixture: SessionFixture): Promise<boolean> =>
      (await fixture.peer.janitor.expired(fixture.clock.now(), ALL)).some((key) => key.session === fixture.key.session)

    test('a session is due as soon as it has work, and not before', async () => {
      const fixture = await openFixture(stores)
      expect(await isDue(fixture)).toBe(false)
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await isDue(fixture)).toBe(true)
      await fixture.lease.start(await header(fixture), 'x')
      expect(await isDue(fixture)).toBe(false)
      fixture.clock.advance(LEASE_MS)
      expect(await isDue(fixture)).toBe(true)
    })

    test('a due session is returned with its complete key and its due time', async () => {
      const fixture = await openFixture(stores)
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await dueOf(fixture)).toEqual({ key: fixture.key, due: (await header(fixture)).due })
    })

    test('due sessions are listed oldest first, up to the limit', async () => {
      const fixtures = [await openFixture(stores), await openFixture(stores), await openFixture(stores)]
      for (const fixture of [fixtures[2], fixtures[0], fixtures[1]]) {
        stores.clock.advance(1000)
        await fixture?.inbox.enqueue(fixture.key, newRun())
      }
      const names = new Set(fixtures.map((fixture) => fixture.key.session))
      const found = (await stores.janitor.due(stores.clock.now(), ALL)).map(({ key }) => key.session)
      expect(found.filter((name) => names.has(name))).toEqual([2, 0, 1].map((n) => fixtures[n]?.key.session))
      expect(await stores.janitor.due(stores.clock.now(), 2)).toHaveLength(2)
    })

    test('a sweeper that postpones sessions reaches every due session, even if another tenant has many', async () => {
      const tenant = fresh('busy')
      for (let n = 0; n < 40; n++) {
        const { inbox, key } = await openFixture(stores, { tenant })
        await inbox.enqueue(key, newRun())
      }
      const last = await openFixture(stores)
      await last.inbox.enqueue(last.key, newRun())
      const seen = new Set<string>()
      for (let pages = 0; pages < 5 && !seen.has(last.key.session); pages++)
        for (const session of await stores.janitor.due(stores.clock.now(), 100)) {
          seen.add(session.key.session)
          await stores.janitor.postpone(session, stores.clock.now() + 1_000)
        }
      expect(seen).toContain(last.key.session)
    })

    test('a postponed session is due at its new time, after sessions with an earlier time', async () => {
      const [first, second] = [await openFixture(stores), await openFixture(stores)]
      for (const fixture of [first, second]) await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await dueOf(first)
      if (seen === undefined) throw new Error('the session is not due')
      expect(await first.janitor.postpone(seen, first.clock.now() + 5_000)).toBe(true)
      expect(await isDue(first)).toBe(false)
      first.clock.advance(5_000)
      const names = [first, second].map((fixture) => fixture.key.session)
      const found = (await stores.janitor.due(stores.clock.now(), ALL)).map(({ key }) => key.session)
      expect(found.filter((name) => names.includes(name))).toEqual(names.toReversed())
    })

    test('a session whose due time has changed or disappeared is not postponed', async () => {
      const fixture = await openFixture(stores)
      await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await dueOf(fixture)
      if (seen === undefined) throw new Error('the session is not due')
      const started = await fixture.lease.start(await header(fixture), 'x')
      const before = await header(fixture)
      expect(await fixture.janitor.postpone(seen, fixture.clock.now() + 5_000)).toBe(false)
      expect(await header(fixture)).toEqual(before)
      if (started) await fixture.log.endRun(started.lease, endAfter(fixture, started.lease, started.lease.head))
      expect(await fixture.janitor.postpone(seen, fixture.clock.now() + 5_000)).toBe(false)
      expect(await header(fixture)).not.toHaveProperty('due')
      expect(await fixture.janitor.postpone({ key: { tenant: 'nobody', session: 'x' }, due: 1 }, 2)).toBe(false)
    })

    test('the due time is cleared only if there is no work', async () => {
      const fixture = await openFixture(stores)
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await fixture.janitor.clearDue(fixture.key)).toBe(false)
      await fixture.inbox.cancel(fixture.key, queued.runId)
      expect(await isDue(fixture)).toBe(true)
      expect(await fixture.peer.janitor.clearDue(fixture.key)).toBe(true)
      expect(await isDue(fixture)).toBe(false)
      expect(await header(fixture)).not.toHaveProperty('due')
      const { lease } = await startRun(fixture)
      expect(await fixture.janitor.clearDue(fixture.key)).toBe(false)
      fixture.clock.advance(LEASE_MS + 1)
      expect(await fixture.janitor.clearDue(fixture.key)).toBe(false)
      await fixture.lease.release(lease)
      expect(await fixture.janitor.clearDue(fixture.key)).toBe(false)
      expect(await isDue(fixture)).toBe(true)
    })

    test('the due time of a waiting run is cleared, but not after a resolution, cancel or input', async () => {
      const waiting = await openFixture(stores)
      await pausedRun(waiting, [{ name: 'ask', needs: 'result' }])
      expect(await waiting.janitor.clearDue(waiting.key)).toBe(true)
      const resolved = await openFixture(stores)
      const first = await pausedRun(resolved, [{ name: 'ask', needs: 'result' }])
      await resolved.inbox.resolve(resolved.key, first.started.run.id, [resolutionOf('call-0-0')])
      expect(await resolved.janitor.clearDue(resolved.key)).toBe(false)
      const cancelled = await openFixture(stores)
      const second = await pausedRun(cancelled, [{ name: 'ask', needs: 'result' }])
      await cancelled.inbox.cancel(cancelled.key, second.started.run.id)
      expect(await cancelled.janitor.clearDue(cancelled.key)).toBe(false)
      const superseded = await openFixture(stores)
      await pausedRun(superseded, [{ name: 'ask', needs: 'result' }])
      await superseded.inbox.enqueue(superseded.key, newRun())
      expect(await superseded.janitor.clearDue(superseded.key)).toBe(false)
      for (const fixture of [resolved, cancelled, superseded]) expect(await isDue(fixture)).toBe(true)
    })

    test('an input that is concurrent with a sweep makes the session due', async () => {
      const fixture = await openFixture(stores)
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      await fixture.inbox.cancel(fixture.key, queued.runId)
      await Promise.all([fixture.janitor.clearDue(fixture.key), fixture.peer.inbox.enqueue(fixture.key, newRun())])
      expect(await isDue(fixture)).toBe(true)
    })

    test('a deleted session is due until its deletion is finished, and the sweeper cannot clear it', async () => {
      const fixture = await openFixture(stores)
      await fixture.deletion.tombstone(fixture.key)
      expect(await isDue(fixture)).toBe(true)
      expect(await fixture.janitor.clearDue(fixture.key)).toBe(false)
      expect(await isDue(fixture)).toBe(true)
    })

    test('clearing an unknown session changes nothing', async () => {
      expect(await stores.janitor.clearDue({ tenant: 'nobody', session: 'nothing' })).toBe(false)
    })

    test('a session expires after its retention days without a run, and a run postpones the expiry', async () => {
      const fixture = await openFixture(stores, { ttlDays: 2 })
      const forever = await openFixture(stores)
      fixture.clock.advance(2 * DAY - 4_000_000)
      expect(await isExpired(fixture)).toBe(false)
      const { lease } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      fixture.clock.advance(2 * DAY - 1000)
      expect(await isExpired(fixture)).toBe(false)
      fixture.clock.advance(2000)
      expect(await isExpired(fixture)).toBe(true)
      expect(await isExpired(forever)).toBe(false)
      expect(await fixture.deletion.tombstone(fixture.key, { ifExpired: true })).toBe(true)
      expect(await isExpired(fixture)).toBe(false)
    })

    test('an expired session with work does not block an expired session after it', async () => {
      const tenant = fresh('tenant')
      const [busy, idle] = [
        await openFixture(stores, { tenant, ttlDays: 1 }),
        await openFixture(stores, { tenant, ttlDays: 1 }),
      ]
      idle.clock.advance(DAY + 1000)
      await busy.inbox.enqueue(busy.key, newRun())
      const all = await stores.janitor.expired(stores.clock.now(), ALL)
      const upToIdle = all.findIndex(({ session }) => session === idle.key.session) + 1
      const found = await stores.janitor.expired(stores.clock.now(), upToIdle)
      expect(found.map(({ session }) => session)).toContain(idle.key.session)
      expect(found.map(({ session }) => session)).not.toContain(busy.key.session)
    })

    test('an expired session that gets a new run is not deleted', async () => {
      const fixture = await openFixture(stores, { ttlDays: 1 })
      fixture.clock.advance(DAY + 1000)
      expect(await isExpired(fixture)).toBe(true)
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await fixture.deletion.tombstone(fixture.key, { ifExpired: true })).toBe(false)
      const started = await fixture.lease.start(await header(fixture), 'x')
      expect(await fixture.deletion.tombstone(fixture.key, { ifExpired: true })).toBe(false)
      if (started) await fixture.log.endRun(started.lease, endAfter(fixture, started.lease, started.lease.head))
      expect(await fixture.deletion.tombstone(fixture.key, { ifExpired: true })).toBe(false)
      expect((await snapshot(fixture, fixture.key)).messages).toHaveLength(2)
    })

    test('a paused session also expires, and its retention days count from the pause', async () => {
      const fixture = await openFixture(stores, { ttlDays: 1 })
      fixture.clock.advance(DAY / 2)
      await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      fixture.clock.advance(DAY - 1000)
      expect(await isExpired(fixture)).toBe(false)
      fixture.clock.advance(2000)
      expect(await isExpired(fixture)).toBe(true)
    })

    test('an expiry does not delete a session that has not expired, has no retention days or is unknown', async () => {
      const [young, forever] = [await openFixture(stores, { ttlDays: 30 }), await openFixture(stores)]
      for (const fixture of [young, forever]) {
        expect(await fixture.deletion.tombstone(fixture.key, { ifExpired: true })).toBe(false)
        expect((await header(fixture)).status).toBe('live')
      }
      expect(await stores.deletion.tombstone({ tenant: 'nobody', session: 'x' }, { ifExpired: true })).toBe(false)
    })
  })

  describe(`session janitor on ${engine.name} that fails`, () => {
    test('a failing store rejects, and never reports that nothing is due', async () => {
      const stores = await engine.open()
      const { key } = await openFixture(stores)
      await stores.breakDown()
      await expect(stores.janitor.due(stores.clock.now(), 10)).rejects.toThrow()
      await expect(stores.janitor.expired(stores.clock.now(), 10)).rejects.toThrow()
      await expect(stores.janitor.clearDue(key)).rejects.toThrow()
      await stores.close()
    })
  })
}
