import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endAfter, expectCode, fresh, header, newRun, openScene, roundAfter, startRun } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** The cap on runs of one API key that are queued, running or paused. */
export function runInboxCapsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: caps`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const capped = (mostActive: number) => ({ keyId: fresh('key'), mostActive })

    test.each([1, 3])('of 20 runs that are handed in at once, %i are accepted', async (cap) => {
      const tenant = fresh('tenant')
      const counted = capped(cap)
      const scenes = await Promise.all(Array.from({ length: 20 }, () => openScene(stores, { tenant })))
      const results = await Promise.allSettled(
        scenes.map((scene, place) => {
          const { inbox } = place % 2 === 0 ? scene : scene.peer
          return inbox.enqueue(scene.key, newRun({ ...counted, ...(place % 3 === 0 ? { startAs: fresh('me') } : {}) }))
        }),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(cap)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'too_many_active_runs' })
    })

    test('queued, running and paused runs count, over all sessions; ended, cancelled, merged and deleted ones do not', async () => {
      const tenant = fresh('tenant')
      const counted = capped(3)
      const [one, two, three] = await Promise.all([1, 2, 3].map(() => openScene(stores, { tenant })))
      if (one === undefined || two === undefined || three === undefined) throw new Error('there are three')
      const refused = async (): Promise<void> => {
        const before = await snapshot(three, three.key)
        await expectCode(three.inbox.enqueue(three.key, newRun(counted)), 'too_many_active_runs')
        expect(await snapshot(three, three.key)).toEqual(before)
      }
      const { lease } = await startRun(one, counted)
      const queued = await one.inbox.enqueue(one.key, newRun(counted))
      const other = await startRun(two, counted)
      await refused()
      await two.log.appendRound(
        other.lease,
        roundAfter(two, other.lease, other.lease.head, [{ name: 'ask', needs: 'result' }]),
      )
      await two.log.pause(other.lease)
      await refused()
      expect((await three.inbox.enqueue(three.key, newRun(capped(1)))).repeated).toBe(false)
      await one.inbox.cancel(one.key, queued.runId)
      const second = await one.inbox.enqueue(one.key, newRun(counted))
      await refused()
      const messageId = endAfter(one, lease, lease.head).message?.id ?? ''
      await one.log.steer(lease, second.runId, messageId)
      const third = await one.inbox.enqueue(one.key, newRun(counted))
      await refused()
      await one.log.endRun(lease, endAfter(one, lease, messageId))
      await two.deletion.tombstone(two.key)
      await one.lease.start(await header(one), 'x')
      expect((await one.peer.reader.run(one.key, third.runId))?.status).toBe('running')
      for (let count = 0; count < 2; count++) await three.inbox.enqueue(three.key, newRun(counted))
      await refused()
    })

    test('what was accepted before under an idempotency key is the same run, also at the cap', async () => {
      const scene = await openScene(stores)
      const idempotency = { keyHash: 'k'.repeat(64), bodyHash: 'b'.repeat(64) }
      const run = newRun({ ...capped(1), idempotency })
      const { runId } = await scene.inbox.enqueue(scene.key, run)
      expect(await scene.peer.inbox.enqueue(scene.key, run)).toEqual({ runId, repeated: true })
      const other = { ...run, idempotency: { ...idempotency, bodyHash: 'c'.repeat(64) } }
      await expectCode(scene.inbox.enqueue(scene.key, other), 'idempotency_conflict')
    })

    test('runs without a cap need no room', async () => {
      const scene = await openScene(stores)
      const { keyId } = capped(1)
      for (let count = 0; count < 3; count++) await scene.inbox.enqueue(scene.key, newRun({ keyId }))
      expect((await scene.reader.queued(scene.key)).length).toBe(3)
    })
  })
}
