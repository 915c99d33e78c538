import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endAfter, expectCode, fresh, header, newRun, openFixture, startRun } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for repeated inputs: the same request twice, and a new attempt after a failure. */
export function runInboxRepeatsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: repeats`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('idempotency', () => {
      const idempotency = { keyHash: 'k'.repeat(64), bodyHash: 'b'.repeat(64) }

      test('requests with an equal key and body return one run, also after this run has started and ended', async () => {
        const fixture = await openFixture(stores)
        const first = await fixture.inbox.enqueue(fixture.key, newRun({ idempotency, startAs: 'me' }))
        const again = { runId: first.runId, repeated: true }
        expect(await fixture.peer.inbox.enqueue(fixture.key, newRun({ idempotency, startAs: 'you' }))).toEqual(again)
        const lease = first.started?.lease
        if (lease) await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
        const ended = await snapshot(fixture, fixture.key)
        expect(await fixture.inbox.enqueue(fixture.key, newRun({ idempotency }))).toEqual(again)
        expect(await snapshot(fixture, fixture.key)).toEqual(ended)
      })

      test('a reused key with another body is rejected, and nothing is stored', async () => {
        const fixture = await openFixture(stores)
        await fixture.inbox.enqueue(fixture.key, newRun({ idempotency }))
        const before = await snapshot(fixture, fixture.key)
        const other = newRun({ idempotency: { ...idempotency, bodyHash: 'c'.repeat(64) } })
        await expectCode(fixture.inbox.enqueue(fixture.key, other), 'idempotency_conflict')
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
      })

      test('an idempotency key of a request that joined a run returns that run, even after another run starts', async () => {
        const fixture = await openFixture(stores)
        const { lease, run } = await startRun(fixture)
        const joins = Array.from({ length: 4 }, (_, n) =>
          (n % 2 ? fixture : fixture.peer).inbox.join(fixture.key, run.id, idempotency),
        )
        const joined = await Promise.all(joins)
        expect(joined.every(({ runId }) => runId === run.id)).toBe(true)
        expect(joined.filter(({ repeated }) => !repeated)).toHaveLength(1)
        await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
        const again = { runId: run.id, repeated: true }
        expect(await fixture.inbox.enqueue(fixture.key, newRun({ trigger: 'continue', idempotency }))).toEqual(again)
        const next = await startRun(fixture)
        expect(await fixture.inbox.join(fixture.key, next.run.id, idempotency)).toEqual(again)
        const other = { ...idempotency, bodyHash: 'c'.repeat(64) }
        await expectCode(fixture.inbox.join(fixture.key, next.run.id, other), 'idempotency_conflict')
        await fixture.deletion.tombstone(fixture.key)
        await expectCode(fixture.inbox.join(fixture.key, run.id, idempotency), 'session_not_found')
      })

      test('a repeated request returns its run even if the session is busy and the request has `onBusy: reject`', async () => {
        const fixture = await openFixture(stores)
        const run = newRun({ idempotency, onBusy: 'reject', startAs: 'me' })
        const first = await fixture.inbox.enqueue(fixture.key, run)
        expect(await fixture.inbox.enqueue(fixture.key, run)).toEqual({ runId: first.runId, repeated: true })
      })

      test('a key is remembered for a day', async () => {
        const fixture = await openFixture(stores)
        const first = await fixture.inbox.enqueue(fixture.key, newRun({ idempotency }))
        fixture.clock.advance(86_400_000 - 1000)
        expect(await fixture.inbox.enqueue(fixture.key, newRun({ idempotency }))).toEqual({
          runId: first.runId,
          repeated: true,
        })
      })

      test('an idempotency key is valid only within its session', async () => {
        const [one, two] = [await openFixture(stores), await openFixture(stores)]
        await one.inbox.enqueue(one.key, newRun({ idempotency }))
        expect((await two.inbox.enqueue(two.key, newRun({ idempotency }))).repeated).toBe(false)
      })

      test('many concurrent requests with one key store one run, and all of them get this run', async () => {
        const fixture = await openFixture(stores)
        const posts = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            (n % 2 ? fixture : fixture.peer).inbox.enqueue(
              fixture.key,
              newRun({ idempotency, startAs: fresh('owner') }),
            ),
          ),
        )
        expect(new Set(posts.map((post) => post.runId)).size).toBe(1)
        expect(posts.filter((post) => !post.repeated)).toHaveLength(1)
        expect((await snapshot(fixture, fixture.key)).runs).toHaveLength(1)
      })
    })

    describe('continue', () => {
      test('starts a run without input after a failed one', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
        const again = await fixture.inbox.enqueue(fixture.key, newRun({ trigger: 'continue', startAs: 'me' }))
        expect(again.started?.run).toMatchObject({ trigger: 'continue', status: 'running' })
        expect(again.started).not.toHaveProperty('message')
        expect(again.started?.lease.head).toBe((await header(fixture)).head)
        expect((await snapshot(fixture, fixture.key)).messages).toHaveLength(2)
      })

      test('is refused on an empty session, after a completed or cancelled run, and on a busy session', async () => {
        const fixture = await openFixture(stores)
        const again = (): Promise<unknown> => fixture.inbox.enqueue(fixture.key, newRun({ trigger: 'continue' }))
        await expectCode(again(), 'nothing_to_continue')
        for (const outcome of ['completed', 'cancelled', 'failed'] as const) {
          const { lease } = await startRun(fixture)
          await expectCode(again(), 'nothing_to_continue')
          await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, outcome))
          if (outcome !== 'failed') await expectCode(again(), 'nothing_to_continue')
        }
        await fixture.inbox.enqueue(fixture.key, newRun())
        await expectCode(again(), 'nothing_to_continue')
      })

      test('is accepted after inputs that were cancelled before their start', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        for (const onBusy of ['queue', 'steer'] as const) {
          const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy }))
          await fixture.inbox.cancel(fixture.key, runId)
        }
        await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
        const { runId } = await fixture.inbox.enqueue(fixture.key, newRun())
        await fixture.inbox.cancel(fixture.key, runId)
        const again = await fixture.inbox.enqueue(fixture.key, newRun({ trigger: 'continue' }))
        expect(again.repeated).toBe(false)
      })

      test('is accepted for exactly one of many concurrent requests after a failed run', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
        const results = await Promise.allSettled(
          Array.from({ length: 6 }, (_, n) =>
            (n % 2 ? fixture : fixture.peer).inbox.enqueue(fixture.key, newRun({ trigger: 'continue' })),
          ),
        )
        expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
      })
    })
  })
}
