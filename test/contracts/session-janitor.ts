import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import type { DueSession } from '../../functions/ports/session-janitor.ts'
import { answerOf, endAfter, fresh, header, newRun, openScene, pausedRun, startRun } from './scene.ts'
import type { Scene } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const DAY = 86_400_000
/** More than the sessions of one suite. */
const ALL = 10_000

/** What runs by the clock: finding sessions with work, forgetting those without, and expiry. */
export function sessionJanitorContract(engine: Engine): void {
  describe(`session janitor on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const isDue = async (scene: Scene): Promise<boolean> =>
      (await scene.peer.janitor.due(scene.clock.now(), ALL)).some(({ key }) => key.session === scene.key.session)
    const dueOf = async (scene: Scene): Promise<DueSession | undefined> =>
      (await scene.peer.janitor.due(scene.clock.now(), ALL)).find(({ key }) => key.session === scene.key.session)
    const isExpired = async (scene: Scene): Promise<boolean> =>
      (await scene.peer.janitor.expired(scene.clock.now(), ALL)).some((key) => key.session === scene.key.session)

    test('a session is due from the moment that it has work, and not before', async () => {
      const scene = await openScene(stores)
      expect(await isDue(scene)).toBe(false)
      await scene.inbox.enqueue(scene.key, newRun())
      expect(await isDue(scene)).toBe(true)
      await scene.lease.start(await header(scene), 'x')
      expect(await isDue(scene)).toBe(false)
      scene.clock.advance(LEASE_MS)
      expect(await isDue(scene)).toBe(true)
    })

    test('a due session is given with its whole key and since when it is due', async () => {
      const scene = await openScene(stores)
      await scene.inbox.enqueue(scene.key, newRun())
      expect(await dueOf(scene)).toEqual({ key: scene.key, due: (await header(scene)).due })
    })

    test('due sessions come oldest first, at most as many as asked for', async () => {
      const scenes = [await openScene(stores), await openScene(stores), await openScene(stores)]
      for (const scene of [scenes[2], scenes[0], scenes[1]]) {
        stores.clock.advance(1000)
        await scene?.inbox.enqueue(scene.key, newRun())
      }
      const names = new Set(scenes.map((scene) => scene.key.session))
      const found = (await stores.janitor.due(stores.clock.now(), ALL)).map(({ key }) => key.session)
      expect(found.filter((name) => names.has(name))).toEqual([2, 0, 1].map((n) => scenes[n]?.key.session))
      expect(await stores.janitor.due(stores.clock.now(), 2)).toHaveLength(2)
    })

    test('whoever postpones what was found comes to every due session in turn, whatever other tenants left', async () => {
      const tenant = fresh('busy')
      for (let n = 0; n < 40; n++) {
        const { inbox, key } = await openScene(stores, { tenant })
        await inbox.enqueue(key, newRun())
      }
      const last = await openScene(stores)
      await last.inbox.enqueue(last.key, newRun())
      const seen = new Set<string>()
      for (let pages = 0; pages < 5 && !seen.has(last.key.session); pages++)
        for (const session of await stores.janitor.due(stores.clock.now(), 100)) {
          seen.add(session.key.session)
          await stores.janitor.postpone(session, stores.clock.now() + 1_000)
        }
      expect(seen).toContain(last.key.session)
    })

    test('a postponed session is due at its new time, behind those that were due after it', async () => {
      const [first, second] = [await openScene(stores), await openScene(stores)]
      for (const scene of [first, second]) await scene.inbox.enqueue(scene.key, newRun())
      const seen = await dueOf(first)
      if (seen === undefined) throw new Error('the session is not due')
      expect(await first.janitor.postpone(seen, first.clock.now() + 5_000)).toBe(true)
      expect(await isDue(first)).toBe(false)
      first.clock.advance(5_000)
      const names = [first, second].map((scene) => scene.key.session)
      const found = (await stores.janitor.due(stores.clock.now(), ALL)).map(({ key }) => key.session)
      expect(found.filter((name) => names.includes(name))).toEqual(names.toReversed())
    })

    test('a session whose due has moved since it was seen, or that has none, is not postponed', async () => {
      const scene = await openScene(stores)
      await scene.inbox.enqueue(scene.key, newRun())
      const seen = await dueOf(scene)
      if (seen === undefined) throw new Error('the session is not due')
      const started = await scene.lease.start(await header(scene), 'x')
      const before = await header(scene)
      expect(await scene.janitor.postpone(seen, scene.clock.now() + 5_000)).toBe(false)
      expect(await header(scene)).toEqual(before)
      if (started) await scene.log.endRun(started.lease, endAfter(scene, started.lease, started.lease.head))
      expect(await scene.janitor.postpone(seen, scene.clock.now() + 5_000)).toBe(false)
      expect(await header(scene)).not.toHaveProperty('due')
      expect(await scene.janitor.postpone({ key: { tenant: 'nobody', session: 'x' }, due: 1 }, 2)).toBe(false)
    })

    test('due is cleared only where there is nothing to do', async () => {
      const scene = await openScene(stores)
      const queued = await scene.inbox.enqueue(scene.key, newRun())
      expect(await scene.janitor.clearDue(scene.key)).toBe(false)
      await scene.inbox.cancel(scene.key, queued.runId)
      expect(await isDue(scene)).toBe(true)
      expect(await scene.peer.janitor.clearDue(scene.key)).toBe(true)
      expect(await isDue(scene)).toBe(false)
      expect(await header(scene)).not.toHaveProperty('due')
      const { lease } = await startRun(scene)
      expect(await scene.janitor.clearDue(scene.key)).toBe(false)
      scene.clock.advance(LEASE_MS + 1)
      expect(await scene.janitor.clearDue(scene.key)).toBe(false)
      await scene.lease.release(lease)
      expect(await scene.janitor.clearDue(scene.key)).toBe(false)
      expect(await isDue(scene)).toBe(true)
    })

    test('due is cleared on a paused run that waits, but not once it is answered, cancelled or superseded', async () => {
      const waiting = await openScene(stores)
      await pausedRun(waiting, [{ name: 'ask', needs: 'result' }])
      expect(await waiting.janitor.clearDue(waiting.key)).toBe(true)
      const answered = await openScene(stores)
      const first = await pausedRun(answered, [{ name: 'ask', needs: 'result' }])
      await answered.inbox.resolve(answered.key, first.started.run.id, [answerOf('call-0-0')])
      expect(await answered.janitor.clearDue(answered.key)).toBe(false)
      const cancelled = await openScene(stores)
      const second = await pausedRun(cancelled, [{ name: 'ask', needs: 'result' }])
      await cancelled.inbox.cancel(cancelled.key, second.started.run.id)
      expect(await cancelled.janitor.clearDue(cancelled.key)).toBe(false)
      const superseded = await openScene(stores)
      await pausedRun(superseded, [{ name: 'ask', needs: 'result' }])
      await superseded.inbox.enqueue(superseded.key, newRun())
      expect(await superseded.janitor.clearDue(superseded.key)).toBe(false)
      for (const scene of [answered, cancelled, superseded]) expect(await isDue(scene)).toBe(true)
    })

    test('of a sweep and an input at once, the input is never left without a wake-up', async () => {
      const scene = await openScene(stores)
      const queued = await scene.inbox.enqueue(scene.key, newRun())
      await scene.inbox.cancel(scene.key, queued.runId)
      await Promise.all([scene.janitor.clearDue(scene.key), scene.peer.inbox.enqueue(scene.key, newRun())])
      expect(await isDue(scene)).toBe(true)
    })

    test("a deleted session is due until its deletion is finished, and is not the sweeper's to clear", async () => {
      const scene = await openScene(stores)
      await scene.deletion.tombstone(scene.key)
      expect(await isDue(scene)).toBe(true)
      expect(await scene.janitor.clearDue(scene.key)).toBe(false)
      expect(await isDue(scene)).toBe(true)
    })

    test('clearing an unknown session changes nothing', async () => {
      expect(await stores.janitor.clearDue({ tenant: 'nobody', session: 'nothing' })).toBe(false)
    })

    test('a session expires when its days have passed without a run, and a run puts that off', async () => {
      const scene = await openScene(stores, { ttlDays: 2 })
      const forever = await openScene(stores)
      scene.clock.advance(2 * DAY - 4_000_000)
      expect(await isExpired(scene)).toBe(false)
      const { lease } = await startRun(scene)
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head))
      scene.clock.advance(2 * DAY - 1000)
      expect(await isExpired(scene)).toBe(false)
      scene.clock.advance(2000)
      expect(await isExpired(scene)).toBe(true)
      expect(await isExpired(forever)).toBe(false)
      expect(await scene.deletion.tombstone(scene.key, { ifExpired: true })).toBe(true)
      expect(await isExpired(scene)).toBe(false)
    })

    test('an expired session that has work does not stand in the way of one behind it', async () => {
      const tenant = fresh('tenant')
      const [busy, idle] = [
        await openScene(stores, { tenant, ttlDays: 1 }),
        await openScene(stores, { tenant, ttlDays: 1 }),
      ]
      idle.clock.advance(DAY + 1000)
      await busy.inbox.enqueue(busy.key, newRun())
      const all = await stores.janitor.expired(stores.clock.now(), ALL)
      const upToIdle = all.findIndex(({ session }) => session === idle.key.session) + 1
      const found = await stores.janitor.expired(stores.clock.now(), upToIdle)
      expect(found.map(({ session }) => session)).toContain(idle.key.session)
      expect(found.map(({ session }) => session)).not.toContain(busy.key.session)
    })

    test('an expired session that wakes up is not deleted under its new run', async () => {
      const scene = await openScene(stores, { ttlDays: 1 })
      scene.clock.advance(DAY + 1000)
      expect(await isExpired(scene)).toBe(true)
      await scene.inbox.enqueue(scene.key, newRun())
      expect(await scene.deletion.tombstone(scene.key, { ifExpired: true })).toBe(false)
      const started = await scene.lease.start(await header(scene), 'x')
      expect(await scene.deletion.tombstone(scene.key, { ifExpired: true })).toBe(false)
      if (started) await scene.log.endRun(started.lease, endAfter(scene, started.lease, started.lease.head))
      expect(await scene.deletion.tombstone(scene.key, { ifExpired: true })).toBe(false)
      expect((await snapshot(scene, scene.key)).messages).toHaveLength(2)
    })

    test('a paused session expires too, its days counted from the pause', async () => {
      const scene = await openScene(stores, { ttlDays: 1 })
      scene.clock.advance(DAY / 2)
      await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      scene.clock.advance(DAY - 1000)
      expect(await isExpired(scene)).toBe(false)
      scene.clock.advance(2000)
      expect(await isExpired(scene)).toBe(true)
    })

    test('expiry of a session that is not expired, has no days or is unknown deletes nothing', async () => {
      const [young, forever] = [await openScene(stores, { ttlDays: 30 }), await openScene(stores)]
      for (const scene of [young, forever]) {
        expect(await scene.deletion.tombstone(scene.key, { ifExpired: true })).toBe(false)
        expect((await header(scene)).status).toBe('live')
      }
      expect(await stores.deletion.tombstone({ tenant: 'nobody', session: 'x' }, { ifExpired: true })).toBe(false)
    })
  })

  describe(`session janitor on ${engine.name} that fails`, () => {
    test('a store that cannot answer rejects and never says that nothing is due', async () => {
      const stores = await engine.open()
      const { key } = await openScene(stores)
      await stores.breakDown()
      await expect(stores.janitor.due(stores.clock.now(), 10)).rejects.toThrow()
      await expect(stores.janitor.expired(stores.clock.now(), 10)).rejects.toThrow()
      await expect(stores.janitor.clearDue(key)).rejects.toThrow()
      await stores.close()
    })
  })
}
