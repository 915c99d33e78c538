import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Lease } from '../../functions/domain/session.ts'
import {
  answerOf,
  approvalOf,
  callOf,
  endAfter,
  expectCode,
  header,
  headOf,
  newRun,
  openScene,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './scene.ts'
import type { Scene } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** How a run leaves its holder: pause, end, and every way of losing the lease. */
export function runLogEndingsContract(engine: Engine): void {
  describe(`run log on ${engine.name}: pause and end`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test("a pause releases the lease and takes the session off the sweeper's list", async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      const after = await header(scene)
      expect(after).toMatchObject({ paused: true, activeRun: started.run.id, waiting: 1 })
      expect(after.generation).toBeGreaterThan(started.lease.generation)
      expect(after).not.toHaveProperty('lease')
      expect(after).not.toHaveProperty('due')
      expect(await scene.reader.run(scene.key, started.run.id)).toMatchObject({ status: 'paused' })
    })

    test('a pause is not written when a cancel has come in', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      await scene.log.appendRound(lease, roundAfter(scene, lease, lease.head, [{ name: 'ask', needs: 'result' }]))
      await scene.peer.inbox.cancel(scene.key, run.id)
      const before = await snapshot(scene, scene.key)
      expect(await scene.log.pause(lease)).toBeUndefined()
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test("an end stores the final answer, frees the session and takes it off the sweeper's list", async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
      await scene.log.appendRound(lease, round)
      await scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id))
      scene.clock.advance(1000)
      const end = endAfter(scene, lease, headOf(round))
      const ended = await scene.log.endRun(lease, end)
      expect(ended).toMatchObject({ closed: [], queued: false })
      expect(ended?.run).toMatchObject({
        id: run.id,
        status: 'completed',
        stopReason: 'answer',
        endedAt: scene.clock.now(),
        usage: { totalTokens: 20 },
      })
      const after = await snapshot(scene.peer, scene.key)
      expect(after.messages.at(-1)).toEqual(end.message)
      expect(after.runs).toEqual([ended?.run])
      expect(after.header).toMatchObject({ head: end.message?.id, waiting: 0, queued: 0, paused: false })
      for (const field of ['lease', 'activeRun', 'due', 'cancel']) expect(after.header).not.toHaveProperty(field)
      expect(after.header?.generation).toBeGreaterThan(lease.generation)
    })

    test('an end with inputs queued leaves the session due at once', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      await scene.peer.inbox.enqueue(scene.key, newRun())
      scene.clock.advance(1000)
      expect(await scene.log.endRun(lease, endAfter(scene, lease, lease.head))).toMatchObject({ queued: true })
      const after = await header(scene)
      expect(after).toMatchObject({ queued: 1 })
      expect(after.due ?? Infinity).toBeLessThanOrEqual(scene.clock.now())
    })

    test('a failed end keeps its error, and one without a message adds none', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const { message: _message, ...end } = endAfter(scene, lease, lease.head, 'failed')
      const ended = await scene.log.endRun(lease, end)
      expect(ended?.run).toMatchObject({ status: 'failed', stopReason: 'error', error: end.error })
      const after = await snapshot(scene, scene.key)
      expect(after.messages).toHaveLength(1)
      expect(after.header?.head).toBe(lease.head)
    })

    test('an end closes the open calls and nothing else: one that was begun is interrupted, for it may have run', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      const calls = [
        { name: 'a' },
        { name: 'b' },
        { name: 'c', needs: 'result' },
        { name: 'd', needs: 'approval' },
      ] as const
      const round = roundAfter(scene, lease, lease.head, calls)
      await scene.log.appendRound(lease, round)
      await scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id))
      await scene.inbox.resolve(scene.key, run.id, [approvalOf('call-0-3', true)])
      await scene.inbox.cancel(scene.key, run.id)
      const ended = await scene.log.endRun(lease, endAfter(scene, lease, headOf(round), 'cancelled'))
      expect(ended?.closed.map((row) => row.id)).toEqual(round.tools.slice(1).map((row) => row.id))
      expect(ended?.closed.map((row) => row.status)).toEqual(['interrupted', 'cancelled', 'cancelled'])
      expect(ended?.closed.every((row) => row.completedAt === scene.clock.now())).toBe(true)
      const after = await snapshot(scene, scene.key)
      expect(after.messages.slice(2, 6).map((row) => (row.role === 'tool' ? row.status : ''))).toEqual([
        'completed',
        'interrupted',
        'cancelled',
        'cancelled',
      ])
      expect(after.header).toMatchObject({ waiting: 0 })
    })

    test("an end with more open calls than one engine's transaction holds closes them all", async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      let head = lease.head
      for (const [number, size] of [64, 64].entries()) {
        const calls = Array.from(
          { length: size },
          (_, n) => ({ name: 'ask', id: `${number}-${n}`, needs: 'result' }) as const,
        )
        const round = roundAfter(scene, lease, head, calls, number)
        // A leader goes on only when its calls have ended: what is open beside its round is a member's.
        const member = number === 0 ? {} : { parentToolCallId: '0-0' }
        const tools = round.tools.map((tool) => ({ ...tool, ...member }))
        await scene.log.appendRound(lease, { assistant: { ...round.assistant, ...member }, tools })
        head = headOf(round)
      }
      await scene.inbox.cancel(scene.key, run.id)
      const ended = await scene.log.endRun(lease, endAfter(scene, lease, head, 'cancelled'))
      expect(ended?.run.status).toBe('cancelled')
      const after = await snapshot(scene, scene.key)
      expect(after.messages.filter((row) => row.role === 'tool' && row.status === 'cancelled')).toHaveLength(128)
      expect(after.header).toMatchObject({ waiting: 0 })
    })

    test('of a pause and the last answer at once, the run is either paused and due or not paused', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      await scene.log.appendRound(lease, roundAfter(scene, lease, lease.head, [{ name: 'ask', needs: 'result' }]))
      const [paused] = await Promise.all([
        scene.log.pause(lease),
        scene.peer.inbox.resolve(scene.key, run.id, [answerOf('call-0-0')]),
      ])
      const after = await header(scene)
      expect(after).toMatchObject({ waiting: 0, paused: paused !== undefined })
      expect(after).toHaveProperty('due')
    })

    test('of an end and an input at once, the input is never left without a wake-up', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      await Promise.all([
        scene.log.endRun(lease, endAfter(scene, lease, lease.head)),
        scene.peer.inbox.enqueue(scene.key, newRun()),
      ])
      const after = await header(scene)
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

    /** A run with one running, one approved and one waiting call, and one steering input queued behind it. */
    async function hold(scene: Scene): Promise<Held> {
      const { lease, run } = await startRun(scene)
      const calls = [{ name: 'a' }, { name: 'b', needs: 'approval' }, { name: 'c', needs: 'result' }] as const
      const round = roundAfter(scene, lease, lease.head, calls)
      await scene.log.appendRound(lease, round)
      await scene.inbox.resolve(scene.key, run.id, [approvalOf('call-0-1', true)])
      const queued = await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'steer' }))
      return {
        lease,
        head: headOf(round),
        call: callOf(round, 0).id,
        approved: callOf(round, 1).id,
        queued: queued.runId,
      }
    }

    const ways: Record<string, (scene: Scene, held: Held) => Promise<unknown>> = {
      'taken over and claimed': (scene) => takeOver(scene),
      ended: (scene, { lease, head }) => scene.log.endRun(lease, endAfter(scene, lease, head)),
      'paused and superseded': async (scene, { lease, call }) => {
        await scene.log.completeCall(lease, { ...resultOf(scene, call), status: 'error' })
        await scene.log.pause(lease)
        await scene.inbox.enqueue(scene.key, newRun())
      },
      'handed over': async (scene, { lease }) => {
        await scene.lease.release(lease)
        const taken = await scene.lease.take(await header(scene), 'next')
        if (taken) await scene.lease.claim(taken)
      },
      'deleted and its rows removed': async (scene) => {
        await scene.deletion.tombstone(scene.key)
        while ((await scene.deletion.removeRows(scene.key, 100)).more);
      },
    }
    const calls: Record<string, (scene: Scene, held: Held) => Promise<unknown>> = {
      appendRound: (scene, { lease, head }) =>
        scene.log.appendRound(lease, roundAfter(scene, lease, head, [{ name: 'x' }], 1)),
      completeCall: (scene, { lease, call }) => scene.log.completeCall(lease, resultOf(scene, call)),
      beginApproved: (scene, { lease, approved }) => scene.log.beginApproved(lease, approved),
      repair: (scene, { lease, call }) => scene.log.repair(lease, [call]),
      steer: (scene, { lease, head, queued }) =>
        scene.log.steer(lease, queued, roundAfter(scene, lease, head, []).assistant.id),
      pause: (scene, { lease }) => scene.log.pause(lease),
      endRun: (scene, { lease, head }) => scene.log.endRun(lease, endAfter(scene, lease, head, 'cancelled')),
      claim: (scene, { lease }) => scene.lease.claim(lease),
      heartbeat: (scene, { lease }) => scene.lease.heartbeat(lease, scene.clock.now() + 120_000),
      release: (scene, { lease }) => scene.lease.release(lease),
    }
    const table = Object.keys(ways).flatMap((way) => Object.keys(calls).map((call) => [call, way] as const))

    test.each(table)('%s is refused and writes nothing once the run was %s', async (call, way) => {
      const scene = await openScene(stores)
      const held = await hold(scene)
      await ways[way]?.(scene, held)
      const before = await snapshot(scene, scene.key)
      await expectCode(calls[call]?.(scene, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    const headerCalls = Object.keys(calls).filter((call) => call !== 'completeCall')
    test.each(headerCalls)('%s is refused as soon as the session is deleted', async (call) => {
      const scene = await openScene(stores)
      const held = await hold(scene)
      await scene.deletion.tombstone(scene.key)
      const before = await snapshot(scene, scene.key)
      await expectCode(calls[call]?.(scene, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    // A claim may ask the rows alone: what it raises before the next holder's claim, that one raises again.
    const heldCalls = headerCalls.filter((call) => call !== 'claim')
    test.each(heldCalls)('%s is refused as soon as another holder has taken the lease', async (call) => {
      const scene = await openScene(stores)
      const held = await hold(scene)
      scene.clock.advance(60_001)
      await scene.peer.lease.take(await header(scene), 'next')
      const before = await snapshot(scene, scene.key)
      await expectCode(calls[call]?.(scene, held) ?? Promise.resolve(), 'lease_lost')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test('a store that cannot answer rejects every call of the holder with an error that is not `lease_lost`', async () => {
      const broken = await engine.open()
      const scene = await openScene(broken)
      const held = await hold(scene)
      await broken.breakDown()
      for (const call of Object.values(calls)) {
        const error = await call(scene, held).then(
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
