import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Lease } from '../../functions/domain/session.ts'
import {
  resolutionOf,
  approvalOf,
  callOf,
  endAfter,
  expectCode,
  header,
  headOf,
  newRun,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for the end of a lease: pause, end of the run, and every kind of loss. */
export function runLogEndingsContract(engine: Engine): void {
  describe(`run log on ${engine.name}: pause and end`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test("a pause releases the lease, and removes the session from the sweeper's list", async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      const after = await header(fixture)
      expect(after).toMatchObject({ paused: true, activeRun: started.run.id, waiting: 1 })
      expect(after.generation).toBeGreaterThan(started.lease.generation)
      expect(after).not.toHaveProperty('lease')
      expect(after).not.toHaveProperty('due')
      expect(await fixture.reader.run(fixture.key, started.run.id)).toMatchObject({ status: 'paused' })
    })

    test('a pause is not written after a cancel', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, lease.head, [{ name: 'ask', needs: 'result' }]))
      await fixture.peer.inbox.cancel(fixture.key, run.id)
      const before = await snapshot(fixture, fixture.key)
      expect(await fixture.log.pause(lease)).toBeUndefined()
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test("an end stores the final completion, frees the session, and removes it from the sweeper's list", async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await fixture.log.appendRound(lease, round)
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      fixture.clock.advance(1000)
      const end = endAfter(fixture, lease, headOf(round))
      const ended = await fixture.log.endRun(lease, end)
      expect(ended).toMatchObject({ closed: [], queued: false })
      expect(ended?.run).toMatchObject({
        id: run.id,
        status: 'completed',
        stopReason: 'answer',
        endedAt: fixture.clock.now(),
        usage: { totalTokens: 20 },
      })
      const after = await snapshot(fixture.peer, fixture.key)
      expect(after.messages.at(-1)).toEqual(end.message)
      expect(after.runs).toEqual([ended?.run])
      expect(after.header).toMatchObject({ head: end.message?.id, waiting: 0, queued: 0, paused: false })
      for (const field of ['lease', 'activeRun', 'due', 'cancel']) expect(after.header).not.toHaveProperty(field)
      expect(after.header?.generation).toBeGreaterThan(lease.generation)
    })

    test('an end with inputs queued leaves the session due at once', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.peer.inbox.enqueue(fixture.key, newRun())
      fixture.clock.advance(1000)
      expect(await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))).toMatchObject({ queued: true })
      const after = await header(fixture)
      expect(after).toMatchObject({ queued: 1 })
      expect(after.due ?? Infinity).toBeLessThanOrEqual(fixture.clock.now())
    })

    test('a failed run keeps its error, and an end without a message adds no message', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const { message: _message, ...end } = endAfter(fixture, lease, lease.head, 'failed')
      const ended = await fixture.log.endRun(lease, end)
      expect(ended?.run).toMatchObject({ status: 'failed', stopReason: 'error', error: end.error })
      const after = await snapshot(fixture, fixture.key)
      expect(after.messages).toHaveLength(1)
      expect(after.header?.head).toBe(lease.head)
    })

    test('an end closes only the open calls: a started call is interrupted, because it may have run', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const calls = [
        { name: 'a' },
        { name: 'b' },
        { name: 'c', needs: 'result' },
        { name: 'd', needs: 'approval' },
      ] as const
      const round = roundAfter(fixture, lease, lease.head, calls)
      await fixture.log.appendRound(lease, round)
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      await fixture.inbox.resolve(fixture.key, run.id, [approvalOf('call-0-3', true)])
      await fixture.inbox.cancel(fixture.key, run.id)
      const ended = await fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round), 'cancelled'))
      expect(ended?.closed.map((row) => row.id)).toEqual(round.tools.slice(1).map((row) => row.id))
      expect(ended?.closed.map((row) => row.status)).toEqual(['interrupted', 'cancelled', 'cancelled'])
      expect(ended?.closed.every((row) => row.completedAt === fixture.clock.now())).toBe(true)
      const after = await snapshot(fixture, fixture.key)
      expect(after.messages.slice(2, 6).map((row) => (row.role === 'tool' ? row.status : ''))).toEqual([
        'completed',
        'interrupted',
        'cancelled',
        'cancelled',
      ])
      expect(after.header).toMatchObject({ waiting: 0 })
    })

    test('an end can close more open calls than one transaction of the engine can contain', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      let head = lease.head
      for (const [number, size] of [64, 64].entries()) {
        const calls = Array.from(
          { length: size },
          (_, n) => ({ name: 'ask', id: `${number}-${n}`, needs: 'result' }) as const,
        )
        const round = roundAfter(fixture, lease, head, calls, number)
        // A leader continues only when its calls have ended. So the open calls of later rounds belong to a member.
        const member = number === 0 ? {} : { parentToolCallId: '0-0' }
        const tools = round.tools.map((tool) => ({ ...tool, ...member }))
        await fixture.log.appendRound(lease, { assistant: { ...round.assistant, ...member }, tools })
        head = headOf(round)
      }
      await fixture.inbox.cancel(fixture.key, run.id)
      const ended = await fixture.log.endRun(lease, endAfter(fixture, lease, head, 'cancelled'))
      expect(ended?.run.status).toBe('cancelled')
      const after = await snapshot(fixture, fixture.key)
      expect(after.messages.filter((row) => row.role === 'tool' && row.status === 'cancelled')).toHaveLength(128)
      expect(after.header).toMatchObject({ waiting: 0 })
    })

    test('if a pause and the last resolution are concurrent, the run is paused and due, or not paused', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, lease.head, [{ name: 'ask', needs: 'result' }]))
      const [paused] = await Promise.all([
        fixture.log.pause(lease),
        fixture.peer.inbox.resolve(fixture.key, run.id, [resolutionOf('call-0-0')]),
      ])
      const after = await header(fixture)
      expect(after).toMatchObject({ waiting: 0, paused: paused !== undefined })
      expect(after).toHaveProperty('due')
    })

    test('an input that is concurrent with an end makes the session due', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await Promise.all([
        fixture.log.endRun(lease, endAfter(fixture, lease, lease.head)),
        fixture.peer.inbox.enqueue(fixture.key, newRun()),
      ])
      const after = await header(fixture)
      expect(after).toMatchObject({ queued: 1 })
      expect(after).toHaveProperty('due')
    })
  })

  describe(`run log on ${engine.name}: a lost lease`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    type Held = {
      readonly lease: Lease
      readonly head: string
      readonly call: string
      readonly approved: string
      readonly queued: string
    }

    /** Starts a run with one running, one approved and one waiting call. A steering input is queued behind the run. */
    async function hold(fixture: SessionFixture): Promise<Held> {
      const { lease, run } = await startRun(fixture)
      const calls = [{ name: 'a' }, { name: 'b', needs: 'approval' }, { name: 'c', needs: 'result' }] as const
      const round = roundAfter(fixture, lease, lease.head, calls)
      await fixture.log.appendRound(lease, round)
      await fixture.inbox.resolve(fixture.key, run.id, [approvalOf('call-0-1', true)])
      const queued = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
      return {
        lease,
        head: headOf(round),
        call: callOf(round, 0).id,
        approved: callOf(round, 1).id,
        queued: queued.runId,
      }
    }

    const ways: Record<string, (fixture: SessionFixture, held: Held) => Promise<unknown>> = {
      'taken over and claimed': (fixture) => takeOver(fixture),
      ended: (fixture, { lease, head }) => fixture.log.endRun(lease, endAfter(fixture, lease, head)),
      'paused and superseded': async (fixture, { lease, call }) => {
        await fixture.log.completeCall(lease, { ...resultOf(fixture, call), status: 'error' })
        await fixture.log.pause(lease)
        await fixture.inbox.enqueue(fixture.key, newRun())
      },
      'handed over': async (fixture, { lease }) => {
        await fixture.lease.release(lease)
        const taken = await fixture.lease.take(await header(fixture), 'next')
        if (taken) await fixture.lease.claim(taken)
      },
      'deleted and its rows removed': async (fixture) => {
        await fixture.deletion.tombstone(fixture.key)
        while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      },
    }
    const calls: Record<string, (fixture: SessionFixture, held: Held) => Promise<unknown>> = {
      appendRound: (fixture, { lease, head }) =>
        fixture.log.appendRound(lease, roundAfter(fixture, lease, head, [{ name: 'x' }], 1)),
      completeCall: (fixture, { lease, call }) => fixture.log.completeCall(lease, resultOf(fixture, call)),
      beginApproved: (fixture, { lease, approved }) => fixture.log.beginApproved(lease, approved),
      repair: (fixture, { lease, call }) => fixture.log.repair(lease, [call]),
      steer: (fixture, { lease, head, queued }) =>
        fixture.log.steer(lease, queued, roundAfter(fixture, lease, head, []).assistant.id),
      pause: (fixture, { lease }) => fixture.log.pause(lease),
      endRun: (fixture, { lease, head }) => fixture.log.endRun(lease, endAfter(fixture, lease, head, 'cancelled')),
      claim: (fixture, { lease }) => fixture.lease.claim(lease),
      heartbeat: (fixture, { lease }) => fixture.lease.heartbeat(lease, fixture.clock.now() + 120_000),
      release: (fixture, { lease }) => fixture.lease.release(lease),
    }
    const table = Object.keys(ways).flatMap((way) => Object.keys(calls).map((call) => [call, way] as const))

    test.each(table)('%s is refused and writes nothing after the run was %s', async (call, way) => {
      const fixture = await openFixture(stores)
      const held = await hold(fixture)
      await ways[way]?.(fixture, held)
      const before = await snapshot(fixture, fixture.key)
      await expectCode(calls[call]?.(fixture, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    const headerCalls = Object.keys(calls).filter((call) => call !== 'completeCall')
    test.each(headerCalls)('%s is refused as soon as the session is deleted', async (call) => {
      const fixture = await openFixture(stores)
      const held = await hold(fixture)
      await fixture.deletion.tombstone(fixture.key)
      const before = await snapshot(fixture, fixture.key)
      await expectCode(calls[call]?.(fixture, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    // A claim checks only the generations of the call rows. The next holder has not claimed these rows yet, so the earlier
    // holder's claim is not refused.
    const heldCalls = headerCalls.filter((call) => call !== 'claim')
    test.each(heldCalls)('%s is refused as soon as another holder has acquired the lease', async (call) => {
      const fixture = await openFixture(stores)
      const held = await hold(fixture)
      fixture.clock.advance(60_001)
      await fixture.peer.lease.take(await header(fixture), 'next')
      const before = await snapshot(fixture, fixture.key)
      await expectCode(calls[call]?.(fixture, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('if the store cannot respond, every call of the holder rejects, with an error other than `lease_lost`', async () => {
      const broken = await engine.open()
      const fixture = await openFixture(broken)
      const held = await hold(fixture)
      await broken.breakDown()
      for (const call of Object.values(calls)) {
        const error = await call(fixture, held).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        expect(error).toBeInstanceOf(Error)
        expect(error).not.toMatchObject({ code: 'lease_lost' })
      }
      await broken.close()
    })
  })
}
