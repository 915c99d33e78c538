import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../functions/domain/session.ts'
import {
  resolutionOf,
  callOf,
  endAfter,
  expectCode,
  headOf,
  newRun,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
} from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { allMessages } from './snapshot.ts'
import type { Engine, SessionPorts, Stores } from './stores.ts'

/** Removes all rows in steps of `limit`; returns the number of steps. */
async function removeAll(ports: SessionPorts, fixture: SessionFixture, limit: number): Promise<number> {
  for (let steps = 1; ; steps++) if (!(await ports.deletion.removeRows(fixture.key, limit)).more) return steps
}

/** Contract for deletion: first a fence, then the removal of all rows, step by step. Any process may execute the next step. */
export function sessionDeletionContract(engine: Engine): void {
  describe(`session deletion on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const isDue = async (fixture: SessionFixture): Promise<boolean> =>
      (await fixture.janitor.due(fixture.clock.now(), 10_000)).some(({ key }) => key.session === fixture.key.session)

    /** Creates a session with two runs: an ended run of five messages, two of them calls, and a queued run. */
    async function filled(): Promise<SessionFixture> {
      const fixture = await openFixture(stores, { title: 'secret' })
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
      await fixture.log.appendRound(lease, round)
      for (const call of round.tools) await fixture.log.completeCall(lease, resultOf(fixture, call.id))
      await fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round)))
      await fixture.inbox.enqueue(fixture.key, newRun())
      return fixture
    }

    test('a deletion counts the removed rows, and leaves only the tombstone', async () => {
      const fixture = await filled()
      expect(await fixture.deletion.state(fixture.key)).toBeUndefined()
      expect(await fixture.deletion.tombstone(fixture.key)).toBe(true)
      expect(await fixture.peer.deletion.state(fixture.key)).toEqual({
        messages: 0,
        runs: 0,
        documents: 0,
        outputs: 0,
        removed: false,
      })
      await removeAll(fixture, fixture, 1000)
      await fixture.deletion.markRemoved(fixture.key, 3)
      const state = await fixture.peer.deletion.state(fixture.key)
      expect(state).toMatchObject({ messages: 5, runs: 2, outputs: 3, removed: true })
      expect(state?.documents).toBeGreaterThanOrEqual(5)
      expect(await fixture.lease.readHeader(fixture.key)).toMatchObject({ status: 'deleted', queued: 0, waiting: 0 })
      expect(await allMessages(fixture.reader, fixture.key)).toEqual([])
      expect(await fixture.sessions.read(fixture.key)).toBeUndefined()
    })

    test('a tombstone is due at once and after one lease duration, and never after the deletion has finished', async () => {
      const fixture = await filled()
      await fixture.deletion.tombstone(fixture.key)
      expect(await isDue(fixture)).toBe(true)
      await removeAll(fixture, fixture, 1000)
      await fixture.deletion.markRemoved(fixture.key, 0)
      expect(await isDue(fixture)).toBe(false)
      fixture.clock.advance(LEASE_MS)
      expect(await isDue(fixture)).toBe(true)
      await fixture.deletion.finish(fixture.key)
      expect(await isDue(fixture)).toBe(false)
      fixture.clock.advance(86_400_000)
      expect(await isDue(fixture)).toBe(false)
      expect(await fixture.deletion.state(fixture.key)).toMatchObject({ removed: true })
    })

    test("a caller bound to an owner sees only the tombstones of that owner's sessions", async () => {
      const owned = await openFixture(stores, { owner: 'ann' })
      const free = await openFixture(stores)
      for (const { deletion, key } of [owned, free]) await deletion.tombstone(key)
      expect(await owned.peer.deletion.state(owned.key, 'ann')).toMatchObject({ removed: false })
      expect(await owned.deletion.state(owned.key)).toMatchObject({ removed: false })
      expect(await owned.deletion.state(owned.key, 'bob')).toBeUndefined()
      expect(await free.deletion.state(free.key, 'ann')).toBeUndefined()
    })

    test('an interrupted deletion continues in another process, and counts each row once', async () => {
      const fixture = await filled()
      await fixture.deletion.tombstone(fixture.key)
      expect(await fixture.deletion.removeRows(fixture.key, 2)).toEqual({ more: true })
      expect(await isDue(fixture)).toBe(true)
      const steps = await removeAll(fixture.peer, fixture, 2)
      expect(steps).toBeGreaterThan(1)
      await fixture.peer.deletion.removeRows(fixture.key, 2)
      await fixture.peer.deletion.markRemoved(fixture.key, 1)
      expect(await fixture.deletion.state(fixture.key)).toMatchObject({
        messages: 5,
        runs: 2,
        outputs: 1,
        removed: true,
      })
    })

    test('two concurrent deletions count each row once', async () => {
      const fixture = await filled()
      await fixture.deletion.tombstone(fixture.key)
      await Promise.all([removeAll(fixture, fixture, 1), removeAll(fixture.peer, fixture, 2)])
      expect(await fixture.deletion.state(fixture.key)).toMatchObject({ messages: 5, runs: 2 })
    })

    test('one of many concurrent deletions creates the tombstone', async () => {
      const fixture = await filled()
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 ? fixture : fixture.peer).deletion.tombstone(fixture.key)),
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
      const fixture = await filled()
      const before = await allMessages(fixture.reader, fixture.key)
      expect(await fixture.deletion.removeRows(fixture.key, 10)).toEqual({ more: false })
      await fixture.deletion.markRemoved(fixture.key, 1)
      await fixture.deletion.finish(fixture.key)
      expect(await allMessages(fixture.reader, fixture.key)).toEqual(before)
      expect(await fixture.lease.readHeader(fixture.key)).toMatchObject({ status: 'live', queued: 1 })
      expect(await fixture.deletion.state(fixture.key)).toBeUndefined()
      expect(await isDue(fixture)).toBe(true)
    })

    test('a session can be deleted during a running or paused run, and the run can write nothing afterwards', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await fixture.log.appendRound(lease, round)
      await fixture.peer.deletion.tombstone(fixture.key)
      await removeAll(fixture.peer, fixture, 100)
      await expectCode(fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id)), 'lease_lost')
      await expectCode(fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round))), 'lease_lost')
      await expectCode(fixture.log.appendRound(lease, roundAfter(fixture, lease, headOf(round), [], 1)), 'lease_lost')
      const paused = await openFixture(stores)
      const { started } = await pausedRun(paused, [{ name: 'ask', needs: 'result' }])
      await paused.deletion.tombstone(paused.key)
      await expectCode(
        paused.inbox.resolve(paused.key, started.run.id, [resolutionOf('call-0-0')]),
        'session_not_found',
      )
      await removeAll(paused, paused, 100)
      for (const each of [fixture, paused]) {
        expect(await allMessages(each.reader, each.key)).toEqual([])
        expect(await each.deletion.removeRows(each.key, 10)).toEqual({ more: false })
      }
    })

    test('an id can be reused after 30 days, without any data of the earlier session', async () => {
      const fixture = await filled()
      await fixture.deletion.tombstone(fixture.key)
      await removeAll(fixture, fixture, 1000)
      await fixture.deletion.markRemoved(fixture.key, 0)
      await fixture.deletion.finish(fixture.key)
      await expectCode(fixture.sessions.create({ ...fixture.key, agent: 'helper', metadata: {} }), 'session_exists')
      fixture.clock.advance(30 * 86_400_000 + 1000)
      await fixture.sessions.create({ ...fixture.key, agent: 'helper', metadata: {} })
      expect(await fixture.lease.readHeader(fixture.key)).toMatchObject({ status: 'live', queued: 0 })
      expect(await allMessages(fixture.reader, fixture.key)).toEqual([])
      expect((await fixture.reader.runs(fixture.key, { limit: 10 })).runs).toEqual([])
      await startRun(fixture)
      expect(await allMessages(fixture.reader, fixture.key)).toHaveLength(1)
    })

    test('a session of many messages is removed in bounded steps', async () => {
      // On DynamoDB, `large-deletion.engine.test.ts` removes thousands of messages.
      const rounds = engine.isSlow ? 8 : 40
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      let head = lease.head
      for (let number = 0; number < rounds; number++) {
        const calls = Array.from({ length: 64 }, () => ({ name: 'a' }))
        const round = roundAfter(fixture, lease, head, calls, number)
        await fixture.log.appendRound(lease, round)
        head = headOf(round)
      }
      await fixture.deletion.tombstone(fixture.key)
      expect(await removeAll(fixture, fixture, 50 * rounds)).toBeGreaterThan(1)
      expect(await fixture.deletion.state(fixture.key)).toMatchObject({ messages: 1 + rounds * 65, runs: 1 })
    })
  })

  describe(`session deletion on ${engine.name} that fails`, () => {
    test('a failing store rejects, and never reports that everything is removed', async () => {
      const stores = await engine.open()
      const { key } = await openFixture(stores)
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
