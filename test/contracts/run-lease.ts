import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import {
  resolutionOf,
  endAfter,
  expectCode,
  fresh,
  header,
  headOf,
  newRun,
  openFixture,
  pausedRun,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for leases: one holder at a time starts, takes, renews and releases a session. */
export function runLeaseContract(engine: Engine): void {
  describe(`run lease on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('an unknown session has no header', async () => {
      const none = { tenant: fresh('tenant'), session: 'none' }
      expect([await stores.lease.readHeader(none), await stores.lease.readHeaderEventually(none)]).toEqual([
        undefined,
        undefined,
      ])
    })

    test('an eventually consistent read soon shows the header that a strong read shows', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const seen = await header(fixture)
      await expect.poll(() => fixture.peer.lease.readHeaderEventually(fixture.key)).toEqual(seen)
    })

    test('a new session is live, free, empty and not due', async () => {
      const fixture = await openFixture(stores)
      const seen = await header(fixture)
      expect(seen).toMatchObject({ ...fixture.key, status: 'live', paused: false, waiting: 0, queued: 0, takeovers: 0 })
      for (const field of ['lease', 'activeRun', 'tail', 'head', 'cancel', 'due'])
        expect(seen).not.toHaveProperty(field)
    })

    test('a start activates the lowest queued run, makes its input a message, and schedules the session', async () => {
      const fixture = await openFixture(stores)
      const first = await fixture.inbox.enqueue(
        fixture.key,
        newRun({ input: { parts: [{ type: 'text', text: '1' }], user: 'ada' } }),
      )
      await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await header(fixture)
      const started = await fixture.lease.start(seen, 'owner-1')
      const now = fixture.clock.now()
      // The start is later than the acceptance, even if the clock has not moved. The difference shows that the run was queued.
      expect(started?.run).toMatchObject({ id: first.runId, status: 'running', startedAt: now + 1 })
      expect(started?.run).not.toHaveProperty('input')
      expect(started?.message).toMatchObject({ role: 'user', runId: first.runId, user: 'ada', parts: [{ text: '1' }] })
      expect(started?.lease).toMatchObject({ runId: first.runId, owner: 'owner-1', head: started?.message?.id })
      expect(started?.lease.until).toBe(now + LEASE_MS)
      const after = await header(fixture)
      expect(after).toMatchObject({
        activeRun: first.runId,
        queued: 1,
        head: started?.message?.id,
        due: now + LEASE_MS,
        lease: { owner: 'owner-1', until: now + LEASE_MS },
      })
      expect(after.generation).toBeGreaterThan(seen.generation)
      expect(after.generation).toBe(started?.lease.generation)
      expect(started?.run.startGeneration).toBe(after.generation)
      expect(await fixture.reader.run(fixture.key, first.runId)).toEqual(started?.run)
      expect((await snapshot(fixture, fixture.key)).messages).toEqual([started?.message])
    })

    test('one of many concurrent starts succeeds', async () => {
      const fixture = await openFixture(stores)
      await fixture.inbox.enqueue(fixture.key, newRun())
      await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await header(fixture)
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 ? fixture : fixture.peer).lease.start(seen, `owner-${n}`)),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
      expect((await snapshot(fixture, fixture.key)).messages).toHaveLength(1)
    })

    test('if the response to a start was lost, a repeat by the same owner returns an equal lease', async () => {
      const fixture = await openFixture(stores)
      await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await header(fixture)
      const first = await fixture.lease.start(seen, 'mine')
      const before = await snapshot(fixture, fixture.key)
      expect(await fixture.lease.start(seen, 'mine')).toEqual(first)
      expect(await fixture.lease.start(seen, 'other')).toBeUndefined()
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('a start is refused without a queued run, with an active run, and if the header has changed', async () => {
      const fixture = await openFixture(stores)
      const empty = await header(fixture)
      expect(await fixture.lease.start(empty, 'a')).toBeUndefined()
      const { lease } = await startRun(fixture)
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await fixture.lease.start(await header(fixture), 'b')).toBeUndefined()
      fixture.clock.advance(LEASE_MS + 1)
      expect(await fixture.lease.start(await header(fixture), 'c')).toBeUndefined()
      const stale = await header(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect(await fixture.lease.start(stale, 'd')).toBeUndefined()
      expect(await fixture.lease.start(await header(fixture), 'e')).toBeDefined()
    })

    test('ids ascend even after the clock was set back', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      const before = await header(fixture)
      fixture.clock.advance(-86_400_000)
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      const started = await fixture.lease.start(await header(fixture), 'owner')
      expect(queued.runId > (before.tail ?? '')).toBe(true)
      expect((started?.message?.id ?? '') > (before.head ?? '')).toBe(true)
      fixture.clock.advance(86_400_000)
    })

    test('a live lease cannot be acquired; acquiring an expired lease counts as a takeover', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      expect(await fixture.lease.take(await header(fixture), 'early')).toBeUndefined()
      fixture.clock.advance(LEASE_MS)
      expect(await fixture.lease.take(await header(fixture), 'at the last moment')).toBeUndefined()
      fixture.clock.advance(1)
      const taken = await fixture.lease.take(await header(fixture), 'later')
      expect(taken).toMatchObject({
        ...fixture.key,
        runId: run.id,
        owner: 'later',
        until: fixture.clock.now() + LEASE_MS,
      })
      expect(taken?.generation).toBeGreaterThan(lease.generation)
      expect(await header(fixture)).toMatchObject({
        takeovers: 1,
        due: fixture.clock.now() + LEASE_MS,
        activeRun: run.id,
      })
      expect((await takeOver(fixture)).header.takeovers).toBe(2)
    })

    test('a stored round resets the count of takeovers', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const { lease } = await takeOver(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, lease.head, [{ name: 'tool' }]))
      expect((await header(fixture)).takeovers).toBe(0)
    })

    test('one of many concurrent acquisitions succeeds', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      fixture.clock.advance(LEASE_MS + 1)
      const seen = await header(fixture)
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 2 ? fixture : fixture.peer).lease.take(seen, `owner-${n}`)),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
    })

    test('if the response to an acquisition was lost, a repeat by the same owner returns an equal result', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      fixture.clock.advance(LEASE_MS + 1)
      const seen = await header(fixture)
      const first = await fixture.lease.take(seen, 'mine')
      expect(first).toBeDefined()
      expect(await fixture.lease.take(seen, 'mine')).toEqual(first)
      expect((await header(fixture)).takeovers).toBe(1)
    })

    test('an acquisition is refused on an idle session, on a stale header, and while calls wait', async () => {
      const fixture = await openFixture(stores)
      expect(await fixture.lease.take(await header(fixture), 'a')).toBeUndefined()
      const { round } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      const paused = await header(fixture)
      expect(await fixture.lease.take(paused, 'b')).toBeUndefined()
      await fixture.inbox.resolve(fixture.key, round.assistant.runId, [resolutionOf('call-0-0')])
      const taken = await fixture.lease.take(await header(fixture), 'c')
      expect(taken).toBeDefined()
      fixture.clock.advance(LEASE_MS + 1)
      expect(await fixture.lease.take(paused, 'd')).toBeUndefined()
    })

    test('acquiring a paused run resumes it without counting a takeover', async () => {
      const fixture = await openFixture(stores)
      const { started, round } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
      const taken = await fixture.lease.take(await header(fixture), 'c')
      expect(await header(fixture)).toMatchObject({ paused: false, takeovers: 0, head: headOf(round) })
      expect(await fixture.reader.run(fixture.key, taken?.runId ?? '')).toMatchObject({ status: 'running' })
    })

    test('a paused run is resumed exactly once after the last resolution', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
      const results = await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          const ports = n % 2 ? fixture : fixture.peer
          const seen = await ports.lease.readHeader(fixture.key)
          return seen && ports.lease.take(seen, `owner-${n}`)
        }),
      )
      expect(results.filter((result) => result !== undefined)).toHaveLength(1)
    })

    test("a claim returns the log's head and the open calls, and gives its generation to the running calls", async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [
        { name: 'a' },
        { name: 'b' },
        { name: 'c', needs: 'approval' },
      ])
      await fixture.log.appendRound(lease, round)
      const claimed = await takeOver(fixture)
      expect(claimed.lease.head).toBe(headOf(round))
      expect(claimed.header).toEqual(await header(fixture))
      expect(claimed.open.map((row) => row.id)).toEqual(round.tools.map((row) => row.id))
      for (const row of claimed.open.filter((open) => open.status === 'running'))
        expect(row.generation).toBe(claimed.lease.generation)
      expect(await fixture.peer.lease.claim(claimed.lease)).toEqual(claimed)
    })

    test('a claim by a former holder does not affect the next holder', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, lease.head, [{ name: 'a' }]))
      fixture.clock.advance(LEASE_MS + 1)
      const second = await fixture.lease.take(await header(fixture), 'second')
      const third = await takeOver(fixture)
      if (second !== undefined) await expectCode(fixture.lease.claim(second), 'lease_lost')
      expect((await fixture.lease.claim(third.lease)).open).toEqual(third.open)
    })

    test('a heartbeat extends the lease, never shortens it, and is refused after the lease is lost', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const sent = fixture.clock.now()
      await fixture.lease.heartbeat(lease, sent + LEASE_MS + 30_000)
      await fixture.lease.heartbeat(lease, sent + LEASE_MS + 15_000)
      expect((await header(fixture)).lease?.until).toBe(sent + LEASE_MS + 30_000)
      expect((await header(fixture)).due ?? Infinity).toBeLessThanOrEqual(sent + LEASE_MS + 30_000)
      fixture.clock.set(sent + LEASE_MS + 30_000)
      expect(await fixture.lease.take(await header(fixture), 'early')).toBeUndefined()
      await takeOver(fixture)
      await expectCode(fixture.lease.heartbeat(lease, fixture.clock.now() + LEASE_MS), 'lease_lost')
    })

    test('a late heartbeat does not revive a released lease', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.lease.release(lease)
      const before = await header(fixture)
      await expectCode(fixture.lease.heartbeat(lease, fixture.clock.now() + 2 * LEASE_MS), 'lease_lost')
      expect(await header(fixture)).toEqual(before)
    })

    test('a release leaves the run active, free and due at once, and does not count as a takeover', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      await fixture.lease.release(lease)
      const released = await header(fixture)
      expect(released).toMatchObject({ activeRun: run.id, due: fixture.clock.now() })
      expect(released).not.toHaveProperty('lease')
      expect(released.generation).toBeGreaterThan(lease.generation)
      expect(await fixture.reader.run(fixture.key, run.id)).toMatchObject({ status: 'running' })
      const taken = await fixture.peer.lease.take(released, 'next')
      expect(taken).toMatchObject({ runId: run.id, head: lease.head })
      expect((await header(fixture)).takeovers).toBe(0)
      await expectCode(fixture.lease.release(lease), 'lease_lost')
    })
  })
}
