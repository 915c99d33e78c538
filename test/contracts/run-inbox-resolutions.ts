import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  answerOf,
  approvalOf,
  endAfter,
  expectCode,
  header,
  headOf,
  HOSTILE_TEXTS,
  openScene,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
} from './scene.ts'
import type { Call, Scene } from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const ASK: Call = { name: 'ask', needs: 'result' }
const APPROVE: Call = { name: 'send', needs: 'approval' }

/** Answers to waiting calls: each once, from any number of clients, the last one waking the session. */
export function runInboxAnswersContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: answers`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const rows = async (scene: Scene) =>
      (await snapshot(scene, scene.key)).messages.filter((row) => row.role === 'tool')

    test('a partial answer closes its call and leaves the run paused and not due', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, ASK])
      const resolved = await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-1')])
      expect(resolved).toEqual({ stored: 1, complete: false })
      expect(await rows(scene)).toMatchObject([
        { status: 'waiting', needs: 'result' },
        { status: 'completed', needs: 'result', parts: [{ text: 'answer' }], resolutionHash: 'hash of answer' },
      ])
      const after = await header(scene)
      expect(after).toMatchObject({ waiting: 1, paused: true })
      expect(after).not.toHaveProperty('due')
    })

    test('the last answer makes the session due', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, ASK])
      await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-1')])
      const last = await scene.peer.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0', 'other')])
      expect(last).toEqual({ stored: 1, complete: true })
      expect(await header(scene)).toMatchObject({ waiting: 0, due: scene.clock.now() })
    })

    test('all answers at once are one write', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, APPROVE, ASK])
      const resolved = await scene.inbox.resolve(scene.key, started.run.id, [
        answerOf('call-0-2'),
        approvalOf('call-0-1', true),
        { ...answerOf('call-0-0', 'no such file'), status: 'error' } as ReturnType<typeof answerOf>,
      ])
      expect(resolved).toEqual({ stored: 3, complete: true })
      expect((await rows(scene)).map((row) => row.status)).toEqual(['error', 'approved', 'completed'])
    })

    test('an approval makes the call `approved`, a denial ends it', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [APPROVE, APPROVE])
      await scene.inbox.resolve(scene.key, started.run.id, [
        approvalOf('call-0-0', true),
        approvalOf('call-0-1', false),
      ])
      const [yes, no] = await rows(scene)
      expect(yes).toMatchObject({ status: 'approved', needs: 'approval' })
      expect(yes).not.toHaveProperty('completedAt')
      expect(no).toMatchObject({ status: 'denied', completedAt: scene.clock.now() })
    })

    test('the same answer again stores nothing and is fine, also when the run has gone on and ended', async () => {
      const scene = await openScene(stores)
      const { started, round } = await pausedRun(scene, [ASK, ASK])
      const resolve = (): Promise<unknown> => scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
      await resolve()
      const before = await snapshot(scene, scene.key)
      expect(await resolve()).toEqual({ stored: 0, complete: false })
      expect(await snapshot(scene, scene.key)).toEqual(before)
      const mixed = await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0'), answerOf('call-0-1')])
      expect(mixed).toEqual({ stored: 1, complete: true })
      expect(await resolve()).toEqual({ stored: 0, complete: true })
      const { lease } = await resume(scene)
      await scene.log.endRun(lease, endAfter(scene, lease, headOf(round)))
      expect(await resolve()).toMatchObject({ stored: 0 })
    })

    test('a different answer to a closed call is refused, and with it all of its batch', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, ASK])
      await scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')])
      const before = await snapshot(scene, scene.key)
      const batch = [answerOf('call-0-1'), answerOf('call-0-0', 'different')]
      await expectCode(scene.inbox.resolve(scene.key, started.run.id, batch), 'answer_conflict')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test('an answer of the wrong kind, to an unknown call or to a call that does not wait is refused whole', async () => {
      const scene = await openScene(stores)
      const started = await startRun(scene)
      const round = roundAfter(scene, started.lease, started.lease.head, [ASK, APPROVE, { name: 'tool' }])
      await scene.log.appendRound(started.lease, round)
      const before = await snapshot(scene, scene.key)
      const resolve = (...resolutions: Parameters<typeof scene.inbox.resolve>[2]): Promise<unknown> =>
        scene.inbox.resolve(scene.key, started.run.id, resolutions)
      await expectCode(resolve(approvalOf('call-0-0', true)), 'answer_conflict')
      await expectCode(resolve(answerOf('call-0-1')), 'answer_conflict')
      await expectCode(resolve(answerOf('call-0-2')), 'answer_conflict')
      await expectCode(resolve(answerOf('call-0-0'), answerOf('call-9-9')), 'call_not_found')
      await expectCode(scene.inbox.resolve(scene.key, '01ARZ3NDEKTSV4RRFFQ69G5FAV', [answerOf('x')]), 'run_not_found')
      expect(await snapshot(scene, scene.key)).toEqual(before)
    })

    test('an answer to the run of another session is not found', async () => {
      const [one, two] = [await openScene(stores), await openScene(stores)]
      const { started } = await pausedRun(one, [ASK])
      await expectCode(two.inbox.resolve(two.key, started.run.id, [answerOf('call-0-0')]), 'run_not_found')
    })

    test('an answer while the holder still runs other calls is stored, and then there is nothing to pause for', async () => {
      const scene = await openScene(stores)
      const started = await startRun(scene)
      const round = roundAfter(scene, started.lease, started.lease.head, [{ name: 'tool' }, ASK])
      await scene.log.appendRound(started.lease, round)
      expect(await scene.peer.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-1')])).toEqual({
        stored: 1,
        complete: true,
      })
      await scene.log.completeCall(started.lease, resultOf(scene, round.tools[0]?.id ?? ''))
      expect(await scene.log.pause(started.lease)).toBeUndefined()
      await scene.log.endRun(started.lease, endAfter(scene, started.lease, headOf(round)))
    })

    test('a call id that the provider repeats in a later round means the call that waits', async () => {
      const scene = await openScene(stores)
      const { started, round } = await pausedRun(scene, [{ ...ASK, id: 'same' }])
      await scene.inbox.resolve(scene.key, started.run.id, [answerOf('same', 'first')])
      const { lease } = await resume(scene)
      await scene.log.appendRound(lease, roundAfter(scene, lease, headOf(round), [{ ...ASK, id: 'same' }], 1))
      await scene.log.pause(lease)
      expect(await scene.inbox.resolve(scene.key, started.run.id, [answerOf('same', 'second')])).toEqual({
        stored: 1,
        complete: true,
      })
      expect((await rows(scene)).map((row) => row.parts)).toMatchObject([[{ text: 'first' }], [{ text: 'second' }]])
    })

    test('of two clients that answer the same call differently, one is stored and the other refused', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, ASK])
      const results = await Promise.allSettled([
        scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0', 'one')]),
        scene.peer.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0', 'two')]),
      ])
      expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect((await header(scene)).waiting).toBe(1)
    })

    test('of many clients that answer the same, one is stored and all are fine', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK])
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 ? scene : scene.peer).inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')]),
        ),
      )
      expect(results.reduce((sum, result) => sum + result.stored, 0)).toBe(1)
    })

    test('the last two answers from two clients at once leave nothing waiting and the session due', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK, ASK])
      const results = await Promise.all([
        scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0', 'one')]),
        scene.peer.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-1', 'two')]),
      ])
      expect(results.some((result) => result.complete)).toBe(true)
      expect(await header(scene)).toMatchObject({ waiting: 0, due: scene.clock.now() })
    })

    test.each(HOSTILE_TEXTS)('an answer keeps every character: %s', async (_name, text) => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK])
      await scene.inbox.resolve(scene.key, started.run.id, [{ ...answerOf('call-0-0', text), hash: 'h' }])
      expect((await rows(scene))[0]?.parts).toEqual([{ type: 'text', text }])
    })

    test('an answer after a cancel is refused: the call will be cancelled', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [ASK])
      await scene.inbox.cancel(scene.key, started.run.id)
      await expectCode(scene.inbox.resolve(scene.key, started.run.id, [answerOf('call-0-0')]), 'answer_conflict')
    })

    async function resume(scene: Scene): ReturnType<Stores['lease']['claim']> {
      const taken = await scene.lease.take(await header(scene), 'resumes')
      if (taken === undefined) throw new Error('the run could not be resumed')
      return scene.lease.claim(taken)
    }
  })
}
