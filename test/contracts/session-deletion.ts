import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import {
  answerOf,
  callOf,
  endAfter,
  expectCode,
  headOf,
  newRun,
  openScene,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
} from './scene.ts'
import type { Scene } from './scene.ts'
import { allMessages } from './snapshot.ts'
import type { Engine, SessionPorts, Stores } from './stores.ts'

/** Removes all rows in steps of `limit`; answers how many steps it took. */
async function removeAll(ports: SessionPorts, scene: Scene, limit: number): Promise<number> {
  for (let steps = 1; ; steps++) if (!(await ports.deletion.removeRows(scene.key, limit)).more) return steps
}

/** Deletion: a fence first, then everything goes, step by step, whoever does the next step. */
export function sessionDeletionContract(engine: Engine): void {
  describe(`session deletion on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const isDue = async (scene: Scene): Promise<boolean> =>
      (await scene.janitor.due(scene.clock.now(), 10_000)).some(({ key }) => key.session === scene.key.session)

    /** One ended run with two calls and one queued run: five messages, two runs. */
    async function filled(): Promise<Scene> {
      const scene = await openScene(stores, { title: 'secret' })
      const { lease } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
      await scene.log.appendRound(lease, round)
      for (const call of round.tools) await scene.log.completeCall(lease, resultOf(scene, call.id))
      await scene.log.endRun(lease, endAfter(scene, lease, headOf(round)))
      await scene.inbox.enqueue(scene.key, newRun())
      return scene
    }

    test('a deletion counts what it removes, and leaves nothing but the tombstone', async () => {
      const scene = await filled()
      expect(await scene.deletion.state(scene.key)).toBeUndefined()
      expect(await scene.deletion.tombstone(scene.key)).toBe(true)
      expect(await scene.peer.deletion.state(scene.key)).toEqual({
        messages: 0,
        runs: 0,
        documents: 0,
        outputs: 0,
        removed: false,
      })
      await removeAll(scene, scene, 1000)
      await scene.deletion.markRemoved(scene.key, 3)
      const state = await scene.peer.deletion.state(scene.key)
      expect(state).toMatchObject({ messages: 5, runs: 2, outputs: 3, removed: true })
      expect(state?.documents).toBeGreaterThanOrEqual(5)
      expect(await scene.lease.look(scene.key)).toMatchObject({ status: 'deleted', queued: 0, waiting: 0 })
      expect(await allMessages(scene.reader, scene.key)).toEqual([])
      expect(await scene.sessions.read(scene.key)).toBeUndefined()
    })

    test("the tombstone is due at once, again a lease's length after the removal, and no more once finished", async () => {
      const scene = await filled()
      await scene.deletion.tombstone(scene.key)
      expect(await isDue(scene)).toBe(true)
      await removeAll(scene, scene, 1000)
      await scene.deletion.markRemoved(scene.key, 0)
      expect(await isDue(scene)).toBe(false)
      scene.clock.advance(LEASE_MS)
      expect(await isDue(scene)).toBe(true)
      await scene.deletion.finish(scene.key)
      expect(await isDue(scene)).toBe(false)
      scene.clock.advance(86_400_000)
      expect(await isDue(scene)).toBe(false)
      expect(await scene.deletion.state(scene.key)).toMatchObject({ removed: true })
    })

    test('a tombstone still tells whose session it was, and to nobody else', async () => {
      const owned = await openScene(stores, { owner: 'ann' })
      const free = await openScene(stores)
      for (const { deletion, key } of [owned, free]) await deletion.tombstone(key)
      expect(await owned.peer.deletion.state(owned.key, 'ann')).toMatchObject({ removed: false })
      expect(await owned.deletion.state(owned.key)).toMatchObject({ removed: false })
      expect(await owned.deletion.state(owned.key, 'bob')).toBeUndefined()
      expect(await free.deletion.state(free.key, 'ann')).toBeUndefined()
    })

    test('an interrupted deletion goes on in another process and counts each thing once', async () => {
      const scene = await filled()
      await scene.deletion.tombstone(scene.key)
      expect(await scene.deletion.removeRows(scene.key, 2)).toEqual({ more: true })
      expect(await isDue(scene)).toBe(true)
      const steps = await removeAll(scene.peer, scene, 2)
      expect(steps).toBeGreaterThan(1)
      await scene.peer.deletion.removeRows(scene.key, 2)
      await scene.peer.deletion.markRemoved(scene.key, 1)
      expect(await scene.deletion.state(scene.key)).toMatchObject({ messages: 5, runs: 2, outputs: 1, removed: true })
    })

    test('two processes that remove at once count each thing once', async () => {
      const scene = await filled()
      await scene.deletion.tombstone(scene.key)
      await Promise.all([removeAll(scene, scene, 1), removeAll(scene.peer, scene, 2)])
      expect(await scene.deletion.state(scene.key)).toMatchObject({ messages: 5, runs: 2 })
    })

    test('of many that delete at once, exactly one makes the tombstone', async () => {
      const scene = await filled()
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 ? scene : scene.peer).deletion.tombstone(scene.key)),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
    })

    test('an unknown session has nothing to delete', async () => {
      const key = { tenant: 'nobody', session: 'nothing' }
      expect(await stores.deletion.tombstone(key)).toBe(false)
      expect(await stores.deletion.state(key)).toBeUndefined()
      expect(await stores.deletion.removeRows(key, 10)).toEqual({ more: false })
    })

    test('the rows of a live session cannot be removed', async () => {
      const scene = await filled()
      const before = await allMessages(scene.reader, scene.key)
      expect(await scene.deletion.removeRows(scene.key, 10)).toEqual({ more: false })
      await scene.deletion.markRemoved(scene.key, 1)
      await scene.deletion.finish(scene.key)
      expect(await allMessages(scene.reader, scene.key)).toEqual(before)
      expect(await scene.lease.look(scene.key)).toMatchObject({ status: 'live', queued: 1 })
      expect(await scene.deletion.state(scene.key)).toBeUndefined()
      expect(await isDue(scene)).toBe(true)
    })

    test('a deletion works under a running and under a paused run, which then can write nothing', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
      await scene.log.appendRound(lease, round)
      await scene.peer.deletion.tombstone(scene.key)
      await removeAll(scene.peer, scene, 100)
      await expectCode(scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id)), 'lease_lost')
      await expectCode(scene.log.endRun(lease, endAfter(scene, lease, headOf(round))), 'lease_lost')
      await expectCode(scene.log.appendRound(lease, roundAfter(scene, lease, headOf(round), [], 1)), 'lease_lost')
      const paused = await openScene(stores)
      const { started } = await pausedRun(paused, [{ name: 'ask', needs: 'result' }])
      await paused.deletion.tombstone(paused.key)
      await expectCode(paused.inbox.resolve(paused.key, started.run.id, [answerOf('call-0-0')]), 'session_not_found')
      await removeAll(paused, paused, 100)
      for (const each of [scene, paused]) {
        expect(await allMessages(each.reader, each.key)).toEqual([])
        expect(await each.deletion.removeRows(each.key, 10)).toEqual({ more: false })
      }
    })

    test('an id comes back after 30 days with nothing of the session before it', async () => {
      const scene = await filled()
      await scene.deletion.tombstone(scene.key)
      await removeAll(scene, scene, 1000)
      await scene.deletion.markRemoved(scene.key, 0)
      await scene.deletion.finish(scene.key)
      await expectCode(scene.sessions.create({ ...scene.key, agent: 'helper', metadata: {} }), 'session_exists')
      scene.clock.advance(30 * 86_400_000 + 1000)
      await scene.sessions.create({ ...scene.key, agent: 'helper', metadata: {} })
      expect(await scene.lease.look(scene.key)).toMatchObject({ status: 'live', queued: 0 })
      expect(await allMessages(scene.reader, scene.key)).toEqual([])
      expect((await scene.reader.runs(scene.key, { limit: 10 })).runs).toEqual([])
      await startRun(scene)
      expect(await allMessages(scene.reader, scene.key)).toHaveLength(1)
    })

    test('a session of thousands of messages is removed in bounded steps', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      let head = lease.head
      for (let number = 0; number < 40; number++) {
        const calls = Array.from({ length: 64 }, () => ({ name: 'a' }))
        const round = roundAfter(scene, lease, head, calls, number)
        await scene.log.appendRound(lease, round)
        head = headOf(round)
      }
      await scene.deletion.tombstone(scene.key)
      await removeAll(scene, scene, 500)
      expect(await scene.deletion.state(scene.key)).toMatchObject({ messages: 1 + 40 * 65, runs: 1 })
    })
  })

  describe(`session deletion on ${engine.name} that fails`, () => {
    test('a store that cannot answer rejects and never says that all is removed', async () => {
      const stores = await engine.open()
      const { key } = await openScene(stores)
      await stores.deletion.tombstone(key)
      await stores.breakDown()
      await expect(stores.deletion.removeRows(key, 10)).rejects.toThrow()
      await expect(stores.deletion.markRemoved(key, 0)).rejects.toThrow()
      await expect(stores.deletion.finish(key)).rejects.toThrow()
      await expect(stores.deletion.state(key)).rejects.toThrow()
      await expect(stores.deletion.tombstone(key)).rejects.toThrow()
      await stores.close()
    })
  })
}
