import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  answerOf,
  endAfter,
  expectCode,
  fresh,
  header,
  headOf,
  HOSTILE_TEXTS,
  newRun,
  openScene,
  pausedRun,
  roundAfter,
  startRun,
} from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** What clients hand in: runs in their order, each once. Answers and cancels have suites of their own. */
export function runInboxContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: enqueue`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a run without a holder at hand is queued and makes the session due at once', async () => {
      const scene = await openScene(stores)
      const run = newRun({
        clientTools: [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }],
        keyId: 'k',
      })
      const accepted = await scene.inbox.enqueue(scene.key, run)
      expect(accepted).toEqual({ runId: accepted.runId, repeated: false })
      expect(await header(scene)).toMatchObject({ queued: 1, tail: accepted.runId, due: scene.clock.now() })
      expect(await scene.peer.reader.run(scene.key, accepted.runId)).toMatchObject({
        id: accepted.runId,
        status: 'queued',
        agent: 'helper',
        trigger: 'input',
        onBusy: 'queue',
        input: run.input,
        clientTools: run.clientTools,
        keyId: 'k',
        rounds: 0,
        createdAt: scene.clock.now(),
      })
      expect((await snapshot(scene, scene.key)).messages).toEqual([])
    })

    test('a wake-up that is already due is not put off by a later input', async () => {
      const scene = await openScene(stores)
      await scene.inbox.enqueue(scene.key, newRun())
      const { due } = await header(scene)
      scene.clock.advance(5000)
      await scene.inbox.enqueue(scene.key, newRun())
      expect((await header(scene)).due).toBe(due)
    })

    test('on an idle session a caller with a holder gets the run started in the same write', async () => {
      const scene = await openScene(stores)
      const accepted = await scene.inbox.enqueue(scene.key, newRun({ startAs: 'me' }))
      expect(accepted.started?.lease).toMatchObject({ ...scene.key, owner: 'me', runId: accepted.runId })
      expect(accepted.started?.lease.head).toBe(accepted.started?.message?.id)
      expect(await header(scene)).toMatchObject({
        queued: 0,
        activeRun: accepted.runId,
        lease: { owner: 'me' },
        generation: accepted.started?.lease.generation,
        head: accepted.started?.message?.id,
        due: accepted.started?.lease.until,
      })
      expect(await scene.reader.run(scene.key, accepted.runId)).toEqual(accepted.started?.run)
      expect(accepted.started?.run).toMatchObject({ status: 'running' })
    })

    test('on a busy session the run is queued, with or without a holder at hand', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      const second = await scene.inbox.enqueue(scene.key, newRun({ startAs: 'me' }))
      expect(second).toEqual({ runId: second.runId, repeated: false })
      expect(await scene.reader.queued(scene.key)).toMatchObject([{ id: second.runId }])
    })

    test('an idle session with a queue does not let a newer run pass', async () => {
      const scene = await openScene(stores)
      const first = await scene.inbox.enqueue(scene.key, newRun())
      const second = await scene.inbox.enqueue(scene.key, newRun({ startAs: 'me' }))
      expect(second.started).toBeUndefined()
      expect((await scene.lease.start(await header(scene), 'x'))?.run.id).toBe(first.runId)
    })

    test('run ids ascend in the order of acceptance, whatever the clocks say', async () => {
      const scene = await openScene(stores)
      const ids: string[] = []
      for (const jump of [0, 5000, -60_000, -3_600_000, 10, 7_200_000, -7_200_000]) {
        scene.clock.advance(jump)
        ids.push((await (ids.length % 2 ? scene : scene.peer).inbox.enqueue(scene.key, newRun())).runId)
      }
      expect(ids.toSorted()).toEqual(ids)
      expect((await scene.reader.queued(scene.key)).map((run) => run.id)).toEqual(ids)
      expect((await header(scene)).tail).toBe(ids.at(-1))
    })

    test('of many that post at once to an idle session, one starts and all others are queued', async () => {
      const scene = await openScene(stores)
      const posts = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          (n % 2 ? scene : scene.peer).inbox.enqueue(scene.key, newRun({ startAs: `owner-${n}` })),
        ),
      )
      expect(posts.filter((post) => post.started !== undefined)).toHaveLength(1)
      expect(new Set(posts.map((post) => post.runId)).size).toBe(12)
      expect((await header(scene)).queued).toBe(11)
      expect(await scene.reader.queued(scene.key)).toHaveLength(11)
      const { runs, messages } = await snapshot(scene, scene.key)
      expect(runs).toHaveLength(12)
      expect(messages).toHaveLength(1)
      expect(messages[0]?.runId).toBe(runs[0]?.id)
    })

    test.each(HOSTILE_TEXTS)('an input keeps every character on its way to a message: %s', async (_name, text) => {
      const scene = await openScene(stores)
      const parts = [{ type: 'text', text }] as const
      const short = text.slice(0, 1000)
      const accepted = await scene.inbox.enqueue(
        scene.key,
        newRun({ input: { parts, user: short, metadata: { [short]: [short] } } }),
      )
      expect((await scene.reader.run(scene.key, accepted.runId))?.input?.parts).toEqual(parts)
      const started = await scene.lease.start(await header(scene), 'x')
      const message = await scene.peer.reader.message(scene.key, started?.message?.id ?? '')
      expect(message).toMatchObject({ parts, user: short, metadata: { [short]: [short] } })
      expect(message).toEqual(started?.message)
    })

    describe('reject', () => {
      test('is refused while a run is active or queued, and nothing is stored', async () => {
        const scene = await openScene(stores)
        await scene.inbox.enqueue(scene.key, newRun())
        const queued = await snapshot(scene, scene.key)
        await expectCode(scene.inbox.enqueue(scene.key, newRun({ onBusy: 'reject' })), 'session_busy')
        expect(await snapshot(scene, scene.key)).toEqual(queued)
        await scene.lease.start(await header(scene), 'x')
        const active = await snapshot(scene, scene.key)
        await expectCode(scene.inbox.enqueue(scene.key, newRun({ onBusy: 'reject' })), 'session_busy')
        expect(await snapshot(scene, scene.key)).toEqual(active)
      })

      test('is accepted on an idle session', async () => {
        const scene = await openScene(stores)
        expect(
          (await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'reject', startAs: 'me' }))).started,
        ).toBeDefined()
      })

      test('supersedes a paused run with nothing queued, but not one with a queue', async () => {
        const scene = await openScene(stores)
        const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
        await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'reject' }))
        expect((await header(scene)).cancel).toEqual({ run: started.run.id, reason: 'superseded' })
        await expectCode(scene.inbox.enqueue(scene.key, newRun({ onBusy: 'reject' })), 'session_busy')
      })
    })

    describe('during a pause', () => {
      test('an input supersedes the paused run: its calls are cancelled, then the queue runs in order', async () => {
        const scene = await openScene(stores)
        const started = await startRun(scene)
        const before = await scene.inbox.enqueue(scene.key, newRun())
        const round = roundAfter(scene, started.lease, started.lease.head, [{ name: 'ask', needs: 'result' }])
        await scene.log.appendRound(started.lease, round)
        await scene.log.pause(started.lease)
        const during = await scene.inbox.enqueue(scene.key, newRun({ startAs: 'me', onBusy: 'steer' }))
        expect(during.started).toBeUndefined()
        const seen = await header(scene)
        expect(seen).toMatchObject({ queued: 2, due: scene.clock.now() })
        expect(seen.cancel).toEqual({ run: started.run.id, reason: 'superseded' })
        await expectCode(scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')]), 'answer_conflict')
        const taken = await scene.lease.take(seen, 'next')
        if (taken === undefined) throw new Error('the superseded run was not taken')
        const { lease } = await scene.lease.claim(taken)
        const ended = await scene.log.endRun(lease, endAfter(scene, lease, headOf(round), 'cancelled'))
        expect(ended).toMatchObject({ run: { status: 'cancelled' }, queued: true, closed: [{ status: 'cancelled' }] })
        expect((await scene.lease.start(await header(scene), 'a'))?.run.id).toBe(before.runId)
      })

      test('an input after the last answer waits for the run, which goes on', async () => {
        const scene = await openScene(stores)
        const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
        await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
        await scene.inbox.enqueue(scene.key, newRun())
        expect(await header(scene)).not.toHaveProperty('cancel')
        expect(await scene.lease.take(await header(scene), 'x')).toMatchObject({ runId: started.run.id })
      })
    })

    test('unknown and deleted sessions are not found, and nothing is stored', async () => {
      const unknown = { tenant: fresh('tenant'), session: 'none' }
      await expectCode(stores.inbox.enqueue(unknown, newRun()), 'session_not_found')
      await expectCode(stores.inbox.resolve(unknown, 'x', [answerOf('y')]), 'session_not_found')
      await expectCode(stores.inbox.cancel(unknown, 'x'), 'session_not_found')
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      await scene.deletion.tombstone(scene.key)
      const before = await snapshot(scene, scene.key)
      await expectCode(scene.inbox.enqueue(scene.key, newRun()), 'session_not_found')
      await expectCode(scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')]), 'session_not_found')
      await expectCode(scene.inbox.cancel(scene.key, started.run.id), 'session_not_found')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })
  })

  describe(`run inbox on ${engine.name} that fails`, () => {
    test('a store that cannot answer rejects with an error that is no refusal', async () => {
      const stores = await engine.open()
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [{ name: 'ask', needs: 'result' }])
      await stores.breakDown()
      const calls = [
        scene.inbox.enqueue(scene.key, newRun()),
        scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')]),
        scene.inbox.cancel(scene.key, started.run.id),
      ]
      for (const call of calls) {
        const refusal = { code: expect.stringContaining('not_found') as string }
        await expect(call).rejects.toThrow()
        await expect(call).rejects.not.toMatchObject(refusal)
      }
      await stores.close()
    })
  })
}
