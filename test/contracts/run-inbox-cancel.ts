import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  endAfter,
  expectCode,
  header,
  newRun,
  openFixture,
  pausedRun,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for cancels in every state of a run. */
export function runInboxCancelContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: cancel`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a queued run is cancelled at once and never becomes a message', async () => {
      const fixture = await openFixture(stores)
      const first = await fixture.inbox.enqueue(fixture.key, newRun())
      const second = await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await fixture.peer.inbox.cancel(fixture.key, first.runId)).toEqual({ state: 'cancelled' })
      expect((await header(fixture)).queued).toBe(1)
      expect(await fixture.reader.run(fixture.key, first.runId)).toMatchObject({
        status: 'cancelled',
        stopReason: 'cancelled',
        endedAt: fixture.clock.now(),
      })
      expect((await fixture.lease.start(await header(fixture), 'x'))?.run.id).toBe(second.runId)
    })

    test('every read of a cancelled queued run returns its input', async () => {
      const fixture = await openFixture(stores)
      const input = { parts: [{ type: 'text', text: 'never mind' }], user: 'ada', metadata: { ticket: 'T-1' } } as const
      const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ input }))
      expect(await fixture.reader.queued(fixture.key)).toMatchObject([{ id: runId, input }])
      await fixture.peer.inbox.cancel(fixture.key, runId)
      expect(await fixture.reader.run(fixture.key, runId)).toMatchObject({ status: 'cancelled', input })
      expect(await fixture.reader.runs(fixture.key, { limit: 1 })).toMatchObject({ runs: [{ id: runId, input }] })
    })

    test('a running run gets a cancel flag, and can then end only as cancelled', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      expect(await fixture.peer.inbox.cancel(fixture.key, run.id)).toEqual({ state: 'cancelling', free: false })
      expect((await header(fixture)).cancel).toEqual({ run: run.id, reason: 'user' })
      const before = await snapshot(fixture, fixture.key)
      expect(await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))).toBeUndefined()
      expect(await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))).toBeUndefined()
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
      expect(await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'cancelled'))).toMatchObject({
        run: { status: 'cancelled' },
      })
      expect(await header(fixture)).not.toHaveProperty('cancel')
    })

    test('a paused run, or one whose holder died, can be claimed at once after a cancel', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      expect(await fixture.inbox.cancel(fixture.key, started.run.id)).toEqual({ state: 'cancelling', free: true })
      expect(await header(fixture)).toMatchObject({ due: fixture.clock.now() })
      expect(await fixture.lease.take(await header(fixture), 'x')).toMatchObject({ runId: started.run.id })
      const dead = await openFixture(stores)
      const { run } = await startRun(dead)
      dead.clock.advance(60_001)
      expect(await dead.inbox.cancel(dead.key, run.id)).toEqual({ state: 'cancelling', free: true })
    })

    test('a repeated cancel returns the result of the first cancel, and cancelling an ended run has no effect', async () => {
      const fixture = await openFixture(stores)
      const { run } = await startRun(fixture)
      await fixture.inbox.cancel(fixture.key, run.id)
      expect(await fixture.inbox.cancel(fixture.key, run.id)).toEqual({ state: 'cancelling', free: false })
      const { lease } = await takeOver(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'cancelled'))
      const before = await snapshot(fixture, fixture.key)
      expect(await fixture.inbox.cancel(fixture.key, run.id)).toEqual({ state: 'ended' })
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('an unknown run is not found', async () => {
      const fixture = await openFixture(stores)
      await expectCode(fixture.inbox.cancel(fixture.key, '01ARZ3NDEKTSV4RRFFQ69G5FAV'), 'run_not_found')
    })

    test('cancelling a merged run cancels the run that it was merged into', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const steered = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
      await fixture.log.steer(lease, steered.runId, roundAfter(fixture, lease, lease.head, []).assistant.id)
      expect(await fixture.inbox.cancel(fixture.key, steered.runId)).toEqual({ state: 'cancelling', free: false })
      expect((await header(fixture)).cancel).toEqual({ run: run.id, reason: 'user' })
    })

    test('a queued run that is started and cancelled concurrently is either started or cancelled', async () => {
      const fixture = await openFixture(stores)
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      const seen = await header(fixture)
      const [started, cancelled] = await Promise.all([
        fixture.lease.start(seen, 'x'),
        fixture.peer.inbox.cancel(fixture.key, queued.runId),
      ])
      expect(cancelled.state).toBe(started === undefined ? 'cancelled' : 'cancelling')
      expect((await header(fixture)).queued).toBe(0)
    })
  })
}
