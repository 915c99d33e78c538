import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endAfter, expectCode, header, newRun, openScene, pausedRun, roundAfter, startRun, takeOver } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Cancels, in every state that a run can be in. */
export function runInboxCancelContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: cancel`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a queued run is cancelled at once and never becomes a message', async () => {
      const scene = await openScene(stores)
      const first = await scene.inbox.enqueue(scene.key, newRun())
      const second = await scene.inbox.enqueue(scene.key, newRun())
      expect(await scene.peer.inbox.cancel(scene.key, first.runId)).toEqual({ state: 'cancelled' })
      expect((await header(scene)).queued).toBe(1)
      expect(await scene.reader.run(scene.key, first.runId)).toMatchObject({
        status: 'cancelled',
        stopReason: 'cancelled',
        endedAt: scene.clock.now(),
      })
      expect((await scene.lease.start(await header(scene), 'x'))?.run.id).toBe(second.runId)
    })

    test('a running run gets the flag, which its holder obeys at its next poll', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      expect(await scene.peer.inbox.cancel(scene.key, run.id)).toEqual({ state: 'cancelling', free: false })
      expect((await header(scene)).cancel).toEqual({ run: run.id, reason: 'user' })
      const before = await snapshot(scene, scene.key)
      expect(await scene.log.endRun(lease, endAfter(scene, lease, lease.head))).toBeUndefined()
      expect(await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'failed'))).toBeUndefined()
      expect(await snapshot(scene, scene.key)).toEqual(before)
      expect(await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'cancelled'))).toMatchObject({
        run: { status: 'cancelled' },
      })
      expect(await header(scene)).not.toHaveProperty('cancel')
    })

    test('a paused run is free to take for its cancel at once, and so is one whose holder has died', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      expect(await scene.inbox.cancel(scene.key, started.run.id)).toEqual({ state: 'cancelling', free: true })
      expect(await header(scene)).toMatchObject({ due: scene.clock.now() })
      expect(await scene.lease.take(await header(scene), 'x')).toMatchObject({ runId: started.run.id })
      const dead = await openScene(stores)
      const { run } = await startRun(dead)
      dead.clock.advance(60_001)
      expect(await dead.inbox.cancel(dead.key, run.id)).toEqual({ state: 'cancelling', free: true })
    })

    test('a cancel twice is the same cancel, and of an ended run nothing', async () => {
      const scene = await openScene(stores)
      const { run } = await startRun(scene)
      await scene.inbox.cancel(scene.key, run.id)
      expect(await scene.inbox.cancel(scene.key, run.id)).toEqual({ state: 'cancelling', free: false })
      const { lease } = await takeOver(scene)
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'cancelled'))
      const before = await snapshot(scene, scene.key)
      expect(await scene.inbox.cancel(scene.key, run.id)).toEqual({ state: 'ended' })
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test('an unknown run is not found', async () => {
      const scene = await openScene(stores)
      await expectCode(scene.inbox.cancel(scene.key, '01ARZ3NDEKTSV4RRFFQ69G5FAV'), 'run_not_found')
    })

    test('a merged run cancels the run that it became part of', async () => {
      const scene = await openScene(stores)
      const { lease, run } = await startRun(scene)
      const steered = await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'steer' }))
      await scene.log.steer(lease, steered.runId, roundAfter(scene, lease, lease.head, []).assistant.id)
      expect(await scene.inbox.cancel(scene.key, steered.runId)).toEqual({ state: 'cancelling', free: false })
      expect((await header(scene)).cancel).toEqual({ run: run.id, reason: 'user' })
    })

    test('a queued run that starts and is cancelled at once either starts or is cancelled, never both', async () => {
      const scene = await openScene(stores)
      const queued = await scene.inbox.enqueue(scene.key, newRun())
      const seen = await header(scene)
      const [started, cancelled] = await Promise.all([
        scene.lease.start(seen, 'x'),
        scene.peer.inbox.cancel(scene.key, queued.runId),
      ])
      expect(cancelled.state).toBe(started === undefined ? 'cancelled' : 'cancelling')
      expect((await header(scene)).queued).toBe(0)
    })
  })
}
