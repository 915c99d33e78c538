import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextId } from '../../functions/domain/ids.ts'
import {
  answerOf,
  approvalOf,
  callOf,
  endAfter,
  expectCode,
  finalMessage,
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
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** What else happens to calls and inputs of a run: approvals begin, former calls are closed, inputs join, repeats are told. */
export function runLogCallsContract(engine: Engine): void {
  describe(`run log on ${engine.name}: calls and steering`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('beginApproved and repair', () => {
      test('an approved call begins under the holder of now and then ends like any other', async () => {
        const scene = await openScene(stores)
        const { started, round } = await pausedRun(scene, [{ name: 'send', needs: 'approval' }])
        await scene.inbox.resolve(scene.key, started.run.id, [approvalOf('call-0-0', true)])
        const taken = await scene.lease.take(await header(scene), 'resumes')
        if (taken === undefined) throw new Error('the run could not be resumed')
        const claimed = await scene.lease.claim(taken)
        expect(claimed.open).toMatchObject([{ status: 'approved' }])
        expect(await scene.log.repair(claimed.lease, [])).toEqual([])
        const begun = await scene.log.beginApproved(claimed.lease, callOf(round, 0).id)
        expect(begun).toMatchObject({ status: 'running', generation: claimed.lease.generation })
        expect(await scene.log.beginApproved(claimed.lease, callOf(round, 0).id)).toEqual(begun)
        const ended = await scene.log.completeCall(claimed.lease, resultOf(scene, begun.id))
        expect(ended).toMatchObject({ status: 'completed', needs: 'approval' })
      })

      test('a call that was not approved does not begin', async () => {
        const scene = await openScene(stores)
        const { started, round } = await pausedRun(scene, [
          { name: 'send', needs: 'approval' },
          { name: 'b', needs: 'approval' },
        ])
        await scene.inbox.resolve(scene.key, started.run.id, [
          approvalOf('call-0-0', false),
          approvalOf('call-0-1', true),
        ])
        const taken = await scene.lease.take(await header(scene), 'resumes')
        if (taken === undefined) throw new Error('the run could not be resumed')
        await expect(scene.log.beginApproved(taken, callOf(round, 0).id)).rejects.toThrow()
        expect(await scene.reader.message(scene.key, callOf(round, 0).id)).toMatchObject({ status: 'denied' })
      })

      test('a repair closes only what it names, and twice is once', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [
          { name: 'a' },
          { name: 'b' },
          { name: 'c', needs: 'result' },
        ])
        await scene.log.appendRound(lease, round)
        const claimed = await takeOver(scene)
        const [closed] = await scene.log.repair(claimed.lease, [callOf(round, 0).id])
        expect(closed).toMatchObject({ status: 'interrupted', completedAt: scene.clock.now() })
        const once = await snapshot(scene, scene.key)
        expect(await scene.log.repair(claimed.lease, [callOf(round, 0).id])).toEqual([closed])
        expect(await snapshot(scene, scene.key)).toEqual(once)
        expect(once.messages.slice(2)).toMatchObject([
          { status: 'interrupted' },
          { status: 'running' },
          { status: 'waiting' },
        ])
        expect(once.header).toMatchObject({ waiting: 1 })
      })
    })

    describe('steer', () => {
      test('a queued input becomes a user message of the running run', async () => {
        const scene = await openScene(stores)
        const { lease, run } = await startRun(scene)
        const input = { parts: [{ type: 'text', text: 'rather \ud83d' }], user: 'bob', metadata: { a: 1 } } as const
        const queued = await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'steer', input }))
        const id = nextId(lease.head, scene.clock.now())
        const message = await scene.log.steer(lease, queued.runId, id)
        expect(message).toMatchObject({ ...input, id, role: 'user', runId: run.id })
        const stored = await snapshot(scene, scene.key)
        expect(stored.messages.at(-1)).toEqual(message)
        expect(stored.header).toMatchObject({ queued: 0, head: id })
        const merged = await scene.reader.run(scene.key, queued.runId)
        expect(merged).toMatchObject({ status: 'merged', mergedInto: run.id })
        expect(await scene.log.steer(lease, queued.runId, id)).toEqual(message)
        expect(await snapshot(scene, scene.key)).toEqual(stored)
      })

      test('an input that is no longer queued answers undefined and writes nothing', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const queued = await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'steer' }))
        await scene.inbox.cancel(scene.key, queued.runId)
        const before = await snapshot(scene, scene.key)
        expect(await scene.log.steer(lease, queued.runId, nextId(lease.head, scene.clock.now()))).toBeUndefined()
        expect(await snapshot(scene, scene.key)).toEqual(before)
      })
    })

    describe('after an unknown answer of the store', () => {
      test('a round, a result and an end that landed are told by their ids, and answered alike', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
        await scene.log.appendRound(lease, round)
        await scene.peer.log.appendRound(lease, round)
        const result = resultOf(scene, callOf(round, 0).id)
        const stored = await scene.log.completeCall(lease, result)
        expect(await scene.peer.log.completeCall(lease, result)).toEqual(stored)
        const end = endAfter(scene, lease, headOf(round))
        const ended = await scene.log.endRun(lease, end)
        const after = await snapshot(scene, scene.key)
        expect(await scene.peer.log.endRun(lease, end)).toMatchObject({ run: ended?.run })
        expect(await snapshot(scene, scene.key)).toEqual(after)
        const other = { ...end, message: finalMessage(scene, lease, headOf(round), 'other') }
        await expectCode(scene.log.endRun(lease, other), 'lease_lost')
        expect(await snapshot(scene, scene.key)).toEqual(after)
      })

      test('an answer that landed is told by its hash', async () => {
        const scene = await openScene(stores)
        const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
        await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
        const again = await scene.peer.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
        expect(again).toEqual({ stored: 0, complete: true })
      })
    })
  })
}
