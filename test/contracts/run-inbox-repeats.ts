import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endAfter, expectCode, fresh, header, newRun, openScene, startRun } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Runs that are handed in again: the same request twice, and the next attempt after a failure. */
export function runInboxRepeatsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: repeats`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('idempotency', () => {
      const idempotency = { keyHash: 'k'.repeat(64), bodyHash: 'b'.repeat(64) }

      test('the same key and body is the same run, also after it has started and ended', async () => {
        const scene = await openScene(stores)
        const first = await scene.inbox.enqueue(scene.key, newRun({ idempotency, startAs: 'me' }))
        const again = { runId: first.runId, repeated: true }
        expect(await scene.peer.inbox.enqueue(scene.key, newRun({ idempotency, startAs: 'you' }))).toEqual(again)
        const lease = first.started?.lease
        if (lease) await scene.log.endRun(lease, endAfter(scene, lease, lease.head))
        const ended = await snapshot(scene, scene.key)
        expect(await scene.inbox.enqueue(scene.key, newRun({ idempotency }))).toEqual(again)
        expect(await snapshot(scene, scene.key)).toEqual(ended)
      })

      test('the same key with another body is refused, and nothing is stored', async () => {
        const scene = await openScene(stores)
        await scene.inbox.enqueue(scene.key, newRun({ idempotency }))
        const before = await snapshot(scene, scene.key)
        const other = newRun({ idempotency: { ...idempotency, bodyHash: 'c'.repeat(64) } })
        await expectCode(scene.inbox.enqueue(scene.key, other), 'idempotency_conflict')
        expect(await snapshot(scene, scene.key)).toEqual(before)
      })

      test('a repeat is answered before the session is found to be busy', async () => {
        const scene = await openScene(stores)
        const run = newRun({ idempotency, onBusy: 'reject', startAs: 'me' })
        const first = await scene.inbox.enqueue(scene.key, run)
        expect(await scene.inbox.enqueue(scene.key, run)).toEqual({ runId: first.runId, repeated: true })
      })

      test('a key is remembered for a day', async () => {
        const scene = await openScene(stores)
        const first = await scene.inbox.enqueue(scene.key, newRun({ idempotency }))
        scene.clock.advance(86_400_000 - 1000)
        expect(await scene.inbox.enqueue(scene.key, newRun({ idempotency }))).toEqual({
          runId: first.runId,
          repeated: true,
        })
      })

      test('a key counts within its session only', async () => {
        const [one, two] = [await openScene(stores), await openScene(stores)]
        await one.inbox.enqueue(one.key, newRun({ idempotency }))
        expect((await two.inbox.enqueue(two.key, newRun({ idempotency }))).repeated).toBe(false)
      })

      test('of many that post with one key at once, one is stored and all get its run', async () => {
        const scene = await openScene(stores)
        const posts = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            (n % 2 ? scene : scene.peer).inbox.enqueue(scene.key, newRun({ idempotency, startAs: fresh('owner') })),
          ),
        )
        expect(new Set(posts.map((post) => post.runId)).size).toBe(1)
        expect(posts.filter((post) => !post.repeated)).toHaveLength(1)
        expect((await snapshot(scene, scene.key)).runs).toHaveLength(1)
      })
    })

    describe('continue', () => {
      test('starts a run without input after a failed one', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'failed'))
        const again = await scene.inbox.enqueue(scene.key, newRun({ trigger: 'continue', startAs: 'me' }))
        expect(again.started?.run).toMatchObject({ trigger: 'continue', status: 'running' })
        expect(again.started).not.toHaveProperty('message')
        expect(again.started?.lease.head).toBe((await header(scene)).head)
        expect((await snapshot(scene, scene.key)).messages).toHaveLength(2)
      })

      test('is refused on an empty session, after a completed or cancelled run, and on a busy session', async () => {
        const scene = await openScene(stores)
        const again = (): Promise<unknown> => scene.inbox.enqueue(scene.key, newRun({ trigger: 'continue' }))
        await expectCode(again(), 'nothing_to_continue')
        for (const outcome of ['completed', 'cancelled', 'failed'] as const) {
          const { lease } = await startRun(scene)
          await expectCode(again(), 'nothing_to_continue')
          await scene.log.endRun(lease, endAfter(scene, lease, lease.head, outcome))
          if (outcome !== 'failed') await expectCode(again(), 'nothing_to_continue')
        }
        await scene.inbox.enqueue(scene.key, newRun())
        await expectCode(again(), 'nothing_to_continue')
      })

      test('of many that continue one failed run at once, exactly one is accepted', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'failed'))
        const results = await Promise.allSettled(
          Array.from({ length: 6 }, (_, n) =>
            (n % 2 ? scene : scene.peer).inbox.enqueue(scene.key, newRun({ trigger: 'continue' })),
          ),
        )
        expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
      })
    })
  })
}
