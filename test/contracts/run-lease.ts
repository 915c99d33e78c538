import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import {
  answerOf,
  endAfter,
  expectCode,
  fresh,
  header,
  headOf,
  newRun,
  openScene,
  pausedRun,
  roundAfter,
  startRun,
  takeOver,
} from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** One holder at a time: who may start, take, keep and give back a session. */
export function runLeaseContract(engine: Engine): void {
  describe(`run lease on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a session that never was has no header', async () => {
      expect(await stores.lease.look({ tenant: fresh('tenant'), session: 'none' })).toBeUndefined()
    })

    test('a new session is live, free, empty and not due', async () => {
      const scene = await openScene(stores)
      const seen = await header(scene)
      expect(seen).toMatchObject({ ...scene.key, status: 'live', paused: false, waiting: 0, queued: 0, takeovers: 0 })
      for (const field of ['lease', 'activeRun', 'tail', 'head', 'floor', 'cancel', 'due'])
        expect(seen).not.toHaveProperty(field)
    })

    test("a start makes the lowest queued run active, its input a message, and the session due at the lease's end", async () => {
      const scene = await openScene(stores)
      const first = await scene.inbox.enqueue(
        scene.key,
        newRun({ input: { parts: [{ type: 'text', text: '1' }], user: 'ada' } }),
      )
      await scene.inbox.enqueue(scene.key, newRun())
      const seen = await header(scene)
      const started = await scene.lease.start(seen, 'owner-1')
      const now = scene.clock.now()
      expect(started?.run).toMatchObject({ id: first.runId, status: 'running', startedAt: now })
      expect(started?.run).not.toHaveProperty('input')
      expect(started?.message).toMatchObject({ role: 'user', runId: first.runId, user: 'ada', parts: [{ text: '1' }] })
      expect(started?.lease).toMatchObject({ runId: first.runId, owner: 'owner-1', head: started?.message?.id })
      expect(started?.lease.until).toBe(now + LEASE_MS)
      const after = await header(scene)
      expect(after).toMatchObject({
        activeRun: first.runId,
        queued: 1,
        head: started?.message?.id,
        due: now + LEASE_MS,
        lease: { owner: 'owner-1', until: now + LEASE_MS },
      })
      expect(after.generation).toBeGreaterThan(seen.generation)
      expect(after.generation).toBe(started?.lease.generation)
      expect(await scene.reader.run(scene.key, first.runId)).toEqual(started?.run)
      expect((await snapshot(scene, scene.key)).messages).toEqual([started?.message])
    })

    test('of many that start at once, exactly one does', async () => {
      const scene = await openScene(stores)
      await scene.inbox.enqueue(scene.key, newRun())
      await scene.inbox.enqueue(scene.key, newRun())
      const seen = await header(scene)
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 ? scene : scene.peer).lease.start(seen, `owner-${n}`)),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
      expect((await snapshot(scene, scene.key)).messages).toHaveLength(1)
    })

    test('a start whose answer was lost is told by its owner: the repeat answers the same lease', async () => {
      const scene = await openScene(stores)
      await scene.inbox.enqueue(scene.key, newRun())
      const seen = await header(scene)
      const first = await scene.lease.start(seen, 'mine')
      const before = await snapshot(scene, scene.key)
      expect(await scene.lease.start(seen, 'mine')).toEqual(first)
      expect(await scene.lease.start(seen, 'other')).toBeUndefined()
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test('a start is refused with nothing queued, with an active run, and on a header that has moved on', async () => {
      const scene = await openScene(stores)
      const empty = await header(scene)
      expect(await scene.lease.start(empty, 'a')).toBeUndefined()
      const { lease } = await startRun(scene)
      await scene.inbox.enqueue(scene.key, newRun())
      expect(await scene.lease.start(await header(scene), 'b')).toBeUndefined()
      scene.clock.advance(LEASE_MS + 1)
      expect(await scene.lease.start(await header(scene), 'c')).toBeUndefined()
      const stale = await header(scene)
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head))
      expect(await scene.lease.start(stale, 'd')).toBeUndefined()
      expect(await scene.lease.start(await header(scene), 'e')).toBeDefined()
    })

    test('a clock that has jumped back still gives ascending ids', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head))
      const before = await header(scene)
      scene.clock.advance(-86_400_000)
      const queued = await scene.inbox.enqueue(scene.key, newRun())
      const started = await scene.lease.start(await header(scene), 'owner')
      expect(queued.runId > (before.tail ?? '')).toBe(true)
      expect((started?.message?.id ?? '') > (before.head ?? '')).toBe(true)
      scene.clock.advance(86_400_000)
    })

    test('a live lease cannot be taken, one that has ended can, and that counts as a takeover', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      expect(await scene.lease.take(await header(scene), 'early')).toBeUndefined()
      scene.clock.advance(LEASE_MS)
      expect(await scene.lease.take(await header(scene), 'at the last moment')).toBeUndefined()
      scene.clock.advance(1)
      const taken = await scene.lease.take(await header(scene), 'later')
      expect(taken).toMatchObject({ ...scene.key, runId: run.id, owner: 'later', until: scene.clock.now() + LEASE_MS })
      expect(taken?.generation).toBeGreaterThan(lease.generation)
      expect(await header(scene)).toMatchObject({ takeovers: 1, due: scene.clock.now() + LEASE_MS, activeRun: run.id })
      expect((await takeOver(scene)).header.takeovers).toBe(2)
    })

    test('a stored round ends the count of takeovers', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      const { lease } = await takeOver(scene)
      await scene.log.appendRound(lease, roundAfter(scene, lease, lease.head, [{ name: 'tool' }]))
      expect((await header(scene)).takeovers).toBe(0)
    })

    test('of many that take at once, exactly one does', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      scene.clock.advance(LEASE_MS + 1)
      const seen = await header(scene)
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 ? scene : scene.peer).lease.take(seen, `owner-${n}`)),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
    })

    test('a take whose answer was lost is told by its owner', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      scene.clock.advance(LEASE_MS + 1)
      const seen = await header(scene)
      const first = await scene.lease.take(seen, 'mine')
      expect(first).toBeDefined()
      expect(await scene.lease.take(seen, 'mine')).toEqual(first)
      expect((await header(scene)).takeovers).toBe(1)
    })

    test('a take is refused on an idle session, on a stale header, and while calls wait', async () => {
      const scene = await openScene(stores)
      expect(await scene.lease.take(await header(scene), 'a')).toBeUndefined()
      const { round } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      const paused = await header(scene)
      expect(await scene.lease.take(paused, 'b')).toBeUndefined()
      await scene.inbox.resolve(scene.key, round.assistant.runId, [answerOf('call-0-0')])
      const taken = await scene.lease.take(await header(scene), 'c')
      expect(taken).toBeDefined()
      scene.clock.advance(LEASE_MS + 1)
      expect(await scene.lease.take(paused, 'd')).toBeUndefined()
    })

    test('a resume takes the paused run up without counting a takeover', async () => {
      const scene = await openScene(stores)
      const { started, round } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
      const taken = await scene.lease.take(await header(scene), 'c')
      expect(await header(scene)).toMatchObject({ paused: false, takeovers: 0, head: headOf(round) })
      expect(await scene.reader.run(scene.key, taken?.runId ?? '')).toMatchObject({ status: 'running' })
    })

    test('a paused run is resumed exactly once when the last answer is in', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
      const results = await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          const ports = n % 2 ? scene : scene.peer
          const seen = await ports.lease.look(scene.key)
          return seen && ports.lease.take(seen, `owner-${n}`)
        }),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
    })

    test("a claim answers the log's head and the open calls, now of its own generation", async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [
        { name: 'a' },
        { name: 'b' },
        { name: 'c', needs: 'approval' },
      ])
      await scene.log.appendRound(lease, round)
      const claimed = await takeOver(scene)
      expect(claimed.lease.head).toBe(headOf(round))
      expect(claimed.header).toEqual(await header(scene))
      expect(claimed.open.map((row) => row.id)).toEqual(round.tools.map((row) => row.id))
      for (const row of claimed.open.filter((open) => open.status === 'running'))
        expect(row.generation).toBe(claimed.lease.generation)
      expect(await scene.peer.lease.claim(claimed.lease)).toEqual(claimed)
    })

    test('a claim of a former holder takes nothing from the one after it', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      await scene.log.appendRound(lease, roundAfter(scene, lease, lease.head, [{ name: 'a' }]))
      scene.clock.advance(LEASE_MS + 1)
      const second = await scene.lease.take(await header(scene), 'second')
      const third = await takeOver(scene)
      if (second !== undefined) await expectCode(scene.lease.claim(second), 'lease_lost')
      expect((await scene.lease.claim(third.lease)).open).toEqual(third.open)
    })

    test('a heartbeat moves the end of the lease on, never back, and is refused once the lease is gone', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const sent = scene.clock.now()
      await scene.lease.heartbeat(lease, sent + LEASE_MS + 30_000)
      await scene.lease.heartbeat(lease, sent + LEASE_MS + 15_000)
      expect((await header(scene)).lease?.until).toBe(sent + LEASE_MS + 30_000)
      expect((await header(scene)).due ?? Infinity).toBeLessThanOrEqual(sent + LEASE_MS + 30_000)
      scene.clock.set(sent + LEASE_MS + 30_000)
      expect(await scene.lease.take(await header(scene), 'early')).toBeUndefined()
      await takeOver(scene)
      await expectCode(scene.lease.heartbeat(lease, scene.clock.now() + LEASE_MS), 'lease_lost')
    })

    test('a late heartbeat does not revive a lease that was given back', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      await scene.lease.release(lease)
      const before = await header(scene)
      await expectCode(scene.lease.heartbeat(lease, scene.clock.now() + 2 * LEASE_MS), 'lease_lost')
      expect(await header(scene)).toEqual(before)
    })

    test('a release leaves the run active, free and due at once, and is no takeover for the next', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      await scene.lease.release(lease)
      const released = await header(scene)
      expect(released).toMatchObject({ activeRun: run.id, due: scene.clock.now() })
      expect(released).not.toHaveProperty('lease')
      expect(released.generation).toBeGreaterThan(lease.generation)
      expect(await scene.reader.run(scene.key, run.id)).toMatchObject({ status: 'running' })
      const taken = await scene.peer.lease.take(released, 'next')
      expect(taken).toMatchObject({ runId: run.id, head: lease.head })
      expect((await header(scene)).takeovers).toBe(0)
      await expectCode(scene.lease.release(lease), 'lease_lost')
    })
  })
}
