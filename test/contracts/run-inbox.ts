import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  resolutionOf,
  endAfter,
  expectCode,
  fresh,
  header,
  headOf,
  HOSTILE_TEXTS,
  newRun,
  openFixture,
  pausedRun,
  roundAfter,
  startRun,
} from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for accepted runs: each starts once, in order. Resolutions and cancels have their own suites. */
export function runInboxContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: enqueue`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a run without an available holder is queued, and the session is due at once', async () => {
      const fixture = await openFixture(stores)
      const run = newRun({
        clientTools: [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }],
        instructions: 'Speak like a pirate. 漢',
        keyId: 'k',
      })
      const accepted = await fixture.inbox.enqueue(fixture.key, run)
      expect(accepted).toEqual({ runId: accepted.runId, repeated: false })
      expect(await header(fixture)).toMatchObject({ queued: 1, tail: accepted.runId, due: fixture.clock.now() })
      expect(await fixture.peer.reader.run(fixture.key, accepted.runId)).toMatchObject({
        id: accepted.runId,
        status: 'queued',
        agent: 'helper',
        trigger: 'input',
        onBusy: 'queue',
        input: run.input,
        clientTools: run.clientTools,
        instructions: run.instructions,
        keyId: 'k',
        rounds: 0,
        createdAt: fixture.clock.now(),
      })
      expect((await snapshot(fixture, fixture.key)).messages).toEqual([])
    })

    test('a later input does not postpone a wake-up that is already due', async () => {
      const fixture = await openFixture(stores)
      await fixture.inbox.enqueue(fixture.key, newRun())
      const { due } = await header(fixture)
      fixture.clock.advance(5000)
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect((await header(fixture)).due).toBe(due)
    })

    test('a caller that can hold the lease starts its run in the same write', async () => {
      const fixture = await openFixture(stores)
      const run = newRun({ startAs: 'me', instructions: 'Be brief.' })
      const accepted = await fixture.inbox.enqueue(fixture.key, run)
      expect(accepted.started?.lease).toMatchObject({ ...fixture.key, owner: 'me', runId: accepted.runId })
      expect(accepted.started?.lease.head).toBe(accepted.started?.message?.id)
      expect(await header(fixture)).toMatchObject({
        queued: 0,
        activeRun: accepted.runId,
        lease: { owner: 'me' },
        generation: accepted.started?.lease.generation,
        head: accepted.started?.message?.id,
        due: accepted.started?.lease.until,
      })
      expect(await fixture.reader.run(fixture.key, accepted.runId)).toEqual(accepted.started?.run)
      expect(accepted.started?.run).toMatchObject({ status: 'running', instructions: 'Be brief.' })
    })

    test('a run on a busy session is queued, even if its caller offers to start it at once', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const second = await fixture.inbox.enqueue(fixture.key, newRun({ startAs: 'me' }))
      expect(second).toEqual({ runId: second.runId, repeated: false })
      expect(await fixture.reader.queued(fixture.key)).toMatchObject([{ id: second.runId }])
    })

    test('a newer run does not overtake the queue of an idle session', async () => {
      const fixture = await openFixture(stores)
      const first = await fixture.inbox.enqueue(fixture.key, newRun())
      const second = await fixture.inbox.enqueue(fixture.key, newRun({ startAs: 'me' }))
      expect(second.started).toBeUndefined()
      expect((await fixture.lease.start(await header(fixture), 'x'))?.run.id).toBe(first.runId)
    })

    test('run ids ascend in the order of acceptance, whatever the clocks show', async () => {
      const fixture = await openFixture(stores)
      const ids: string[] = []
      for (const jump of [0, 5000, -60_000, -3_600_000, 10, 7_200_000, -7_200_000]) {
        fixture.clock.advance(jump)
        ids.push((await (ids.length % 2 ? fixture : fixture.peer).inbox.enqueue(fixture.key, newRun())).runId)
      }
      expect(ids.toSorted()).toEqual(ids)
      expect((await fixture.reader.queued(fixture.key)).map((run) => run.id)).toEqual(ids)
      expect((await header(fixture)).tail).toBe(ids.at(-1))
    })

    test('one of many concurrent runs of an idle session starts, and all others are queued', async () => {
      const fixture = await openFixture(stores)
      const posts = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          (n % 2 ? fixture : fixture.peer).inbox.enqueue(fixture.key, newRun({ startAs: `owner-${n}` })),
        ),
      )
      expect(posts.filter((post) => post.started !== undefined)).toHaveLength(1)
      expect(new Set(posts.map((post) => post.runId)).size).toBe(12)
      expect((await header(fixture)).queued).toBe(11)
      expect(await fixture.reader.queued(fixture.key)).toHaveLength(11)
      expect(await fixture.reader.queued(fixture.key, 3)).toHaveLength(3)
      const { runs, messages } = await snapshot(fixture, fixture.key)
      expect(runs).toHaveLength(12)
      expect(messages).toHaveLength(1)
      expect(messages[0]?.runId).toBe(runs[0]?.id)
    })

    test.each(HOSTILE_TEXTS)('an input keeps every character on its way to a message: %s', async (_name, text) => {
      const fixture = await openFixture(stores)
      const parts = [{ type: 'text', text }] as const
      const short = text.slice(0, 1000)
      const accepted = await fixture.inbox.enqueue(
        fixture.key,
        newRun({ input: { parts, user: short, metadata: { [short]: [short] } } }),
      )
      expect((await fixture.reader.run(fixture.key, accepted.runId))?.input?.parts).toEqual(parts)
      const started = await fixture.lease.start(await header(fixture), 'x')
      const message = await fixture.peer.reader.message(fixture.key, started?.message?.id ?? '')
      expect(message).toMatchObject({ parts, user: short, metadata: { [short]: [short] } })
      expect(message).toEqual(started?.message)
    })

    describe('an input with `onBusy: reject`', () => {
      test('is refused while a run is active or queued, and nothing is stored', async () => {
        const fixture = await openFixture(stores)
        await fixture.inbox.enqueue(fixture.key, newRun())
        const queued = await snapshot(fixture, fixture.key)
        await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'reject' })), 'session_busy')
        expect(await snapshot(fixture, fixture.key)).toEqual(queued)
        await fixture.lease.start(await header(fixture), 'x')
        const active = await snapshot(fixture, fixture.key)
        await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'reject' })), 'session_busy')
        expect(await snapshot(fixture, fixture.key)).toEqual(active)
      })

      test('is accepted on an idle session', async () => {
        const fixture = await openFixture(stores)
        expect(
          (await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'reject', startAs: 'me' }))).started,
        ).toBeDefined()
      })

      test('supersedes a paused run if no other input is queued, and is refused otherwise', async () => {
        const fixture = await openFixture(stores)
        const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
        await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'reject' }))
        expect((await header(fixture)).cancel).toEqual({ run: started.run.id, reason: 'superseded' })
        await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'reject' })), 'session_busy')
      })
    })

    describe('during a pause', () => {
      test('an input supersedes the paused run: its calls are cancelled, then the queue runs in order', async () => {
        const fixture = await openFixture(stores)
        const started = await startRun(fixture)
        const before = await fixture.inbox.enqueue(fixture.key, newRun())
        const round = roundAfter(fixture, started.lease, started.lease.head, [{ name: 'ask', needs: 'result' }])
        await fixture.log.appendRound(started.lease, round)
        await fixture.log.pause(started.lease)
        const during = await fixture.inbox.enqueue(fixture.key, newRun({ startAs: 'me', onBusy: 'steer' }))
        expect(during.started).toBeUndefined()
        const seen = await header(fixture)
        expect(seen).toMatchObject({ queued: 2, due: fixture.clock.now() })
        expect(seen.cancel).toEqual({ run: started.run.id, reason: 'superseded' })
        await expectCode(
          fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')]),
          'resolution_conflict',
        )
        const taken = await fixture.lease.take(seen, 'next')
        if (taken === undefined) throw new Error('the superseded run was not taken')
        const { lease } = await fixture.lease.claim(taken)
        const ended = await fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round), 'cancelled'))
        expect(ended).toMatchObject({ run: { status: 'cancelled' }, queued: true, closed: [{ status: 'cancelled' }] })
        expect((await fixture.lease.start(await header(fixture), 'a'))?.run.id).toBe(before.runId)
      })

      test('an input after the last resolution waits until the continued run has ended', async () => {
        const fixture = await openFixture(stores)
        const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
        await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
        await fixture.inbox.enqueue(fixture.key, newRun())
        expect(await header(fixture)).not.toHaveProperty('cancel')
        expect(await fixture.lease.take(await header(fixture), 'x')).toMatchObject({ runId: started.run.id })
      })
    })

    test('one batch can resolve the waiting calls of several rounds, even more calls than a round may have', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const asked = Array.from({ length: 60 }, () => ({ name: 'ask', needs: 'result' }) as const)
      const first = roundAfter(fixture, lease, lease.head, asked)
      const second = roundAfter(fixture, lease, headOf(first), asked, 1)
      for (const round of [first, second]) await fixture.log.appendRound(lease, round)
      await fixture.log.pause(lease)
      const resolutions = [first, second].flatMap(({ tools }) => tools.map((call) => resolutionOf(call.toolCallId)))
      const wrong = fixture.inbox.resolve(fixture.key, lease.runId, [...resolutions, resolutionOf('no call')])
      await expectCode(wrong, 'call_not_found')
      const stored = await fixture.inbox.resolve(fixture.key, lease.runId, resolutions)
      expect(stored).toEqual({ stored: 120, complete: true })
      expect(await fixture.peer.inbox.resolve(fixture.key, lease.runId, resolutions)).toEqual({
        stored: 0,
        complete: true,
      })
      expect(await fixture.lease.take(await header(fixture), 'x')).toMatchObject({ runId: lease.runId })
    })

    test('unknown and deleted sessions are not found, and nothing is stored', async () => {
      const unknown = { tenant: fresh('tenant'), session: 'none' }
      await expectCode(stores.inbox.enqueue(unknown, newRun()), 'session_not_found')
      await expectCode(stores.inbox.resolve(unknown, 'x', [resolutionOf('y')]), 'session_not_found')
      await expectCode(stores.inbox.cancel(unknown, 'x'), 'session_not_found')
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      await fixture.deletion.tombstone(fixture.key)
      const before = await snapshot(fixture, fixture.key)
      await expectCode(fixture.inbox.enqueue(fixture.key, newRun()), 'session_not_found')
      await expectCode(
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')]),
        'session_not_found',
      )
      await expectCode(fixture.inbox.cancel(fixture.key, started.run.id), 'session_not_found')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })
  })

  describe(`run inbox on ${engine.name} that fails`, () => {
    test('a failing store rejects, and never reports that something was not found', async () => {
      const stores = await engine.open()
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      await stores.breakDown()
      const ended = await Promise.allSettled([
        fixture.inbox.enqueue(fixture.key, newRun()),
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')]),
        fixture.inbox.cancel(fixture.key, started.run.id),
      ])
      const refusal = { code: expect.stringContaining('not_found') as string }
      for (const end of ended) {
        expect(end).toMatchObject({ status: 'rejected', reason: expect.any(Error) as Error })
        expect(end).not.toMatchObject({ reason: refusal })
      }
      await stores.close()
    })
  })
}
