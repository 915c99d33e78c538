import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  resolutionOf,
  approvalOf,
  endAfter,
  expectCode,
  header,
  headOf,
  HOSTILE_TEXTS,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
} from './session-fixture.ts'
import type { Resolution } from '../../functions/domain/runs/call-resolution.ts'
import type { Call, SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const ASK: Call = { name: 'ask', needs: 'result' }
const APPROVE: Call = { name: 'send', needs: 'approval' }

/** Contract for resolutions of waiting calls: each is applied once, and the last one wakes the session. */
export function runInboxResolutionsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: resolutions`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const rows = async (fixture: SessionFixture) =>
      (await snapshot(fixture, fixture.key)).messages.filter((row) => row.role === 'tool')

    test('a partial resolution closes its call and leaves the run paused and not due', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      const resolved = await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-1')])
      expect(resolved).toEqual({ stored: 1, complete: false })
      expect(await rows(fixture)).toMatchObject([
        { status: 'waiting', needs: 'result' },
        { status: 'completed', needs: 'result', parts: [{ text: 'result' }], resolutionHash: 'hash of result' },
      ])
      const after = await header(fixture)
      expect(after).toMatchObject({ waiting: 1, paused: true })
      expect(after).not.toHaveProperty('due')
    })

    test('the last resolution makes the session due', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-1')])
      const last = await fixture.peer.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0', 'other')])
      expect(last).toEqual({ stored: 1, complete: true })
      expect(await header(fixture)).toMatchObject({ waiting: 0, due: fixture.clock.now() })
    })

    test('one batch can resolve all waiting calls, each with its own status', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, APPROVE, ASK])
      const resolved = await fixture.inbox.resolve(fixture.key, started.run.id, [
        resolutionOf('call-0-2'),
        approvalOf('call-0-1', true),
        { ...resolutionOf('call-0-0', 'no such file'), status: 'error' } as ReturnType<typeof resolutionOf>,
      ])
      expect(resolved).toEqual({ stored: 3, complete: true })
      expect((await rows(fixture)).map((row) => row.status)).toEqual(['error', 'approved', 'completed'])
    })

    test('an approval makes the call `approved`, a denial ends it', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [APPROVE, APPROVE])
      await fixture.inbox.resolve(fixture.key, started.run.id, [
        approvalOf('call-0-0', true),
        approvalOf('call-0-1', false),
      ])
      const [yes, no] = await rows(fixture)
      expect(yes).toMatchObject({ status: 'approved', needs: 'approval' })
      expect(yes).not.toHaveProperty('completedAt')
      expect(no).toMatchObject({ status: 'denied', completedAt: fixture.clock.now() })
    })

    test('a decision stores its time, and its person if known; a repeated decision changes neither', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [APPROVE, APPROVE, ASK])
      const decide = (resolution: Resolution) => fixture.inbox.resolve(fixture.key, started.run.id, [resolution])
      const at = fixture.clock.now()
      await decide({ ...approvalOf('call-0-0', true), by: 'ann' } as Resolution)
      fixture.clock.advance(1_000)
      await decide({ ...approvalOf('call-0-0', true), by: 'bob' } as Resolution)
      await decide(approvalOf('call-0-1', false))
      expect(await rows(fixture)).toMatchObject([
        { decision: { approved: true, by: 'ann', at } },
        { decision: { approved: false, at: at + 1_000 } },
        { status: 'waiting' },
      ])
    })

    test('a repeated resolution stores nothing and succeeds, also after the run has continued and ended', async () => {
      const fixture = await openFixture(stores)
      const { started, round } = await pausedRun(fixture, [ASK, ASK])
      const resolve = (): Promise<unknown> =>
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
      await resolve()
      const before = await snapshot(fixture, fixture.key)
      expect(await resolve()).toEqual({ stored: 0, complete: false })
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
      const mixed = await fixture.inbox.resolve(fixture.key, started.run.id, [
        resolutionOf('call-0-0'),
        resolutionOf('call-0-1'),
      ])
      expect(mixed).toEqual({ stored: 1, complete: true })
      expect(await resolve()).toEqual({ stored: 0, complete: true })
      const { lease } = await resume(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round)))
      expect(await resolve()).toMatchObject({ stored: 0 })
    })

    test('a different resolution for a closed call is rejected, together with all of its batch', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
      const before = await snapshot(fixture, fixture.key)
      const batch = [resolutionOf('call-0-1'), resolutionOf('call-0-0', 'different')]
      await expectCode(fixture.inbox.resolve(fixture.key, started.run.id, batch), 'resolution_conflict')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('a resolution of the wrong kind, or for an unknown or running call, rejects its whole batch', async () => {
      const fixture = await openFixture(stores)
      const started = await startRun(fixture)
      const round = roundAfter(fixture, started.lease, started.lease.head, [ASK, APPROVE, { name: 'tool' }])
      await fixture.log.appendRound(started.lease, round)
      const before = await snapshot(fixture, fixture.key)
      const resolve = (...resolutions: Parameters<typeof fixture.inbox.resolve>[2]): Promise<unknown> =>
        fixture.inbox.resolve(fixture.key, started.run.id, resolutions)
      await expectCode(resolve(approvalOf('call-0-0', true)), 'resolution_conflict')
      await expectCode(resolve(resolutionOf('call-0-1')), 'resolution_conflict')
      await expectCode(resolve(resolutionOf('call-0-2')), 'resolution_conflict')
      await expectCode(resolve(resolutionOf('call-0-0'), resolutionOf('call-9-9')), 'call_not_found')
      await expectCode(
        fixture.inbox.resolve(fixture.key, '01ARZ3NDEKTSV4RRFFQ69G5FAV', [resolutionOf('x')]),
        'run_not_found',
      )
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('a resolution for a run of another session is refused as not found', async () => {
      const [one, two] = [await openFixture(stores), await openFixture(stores)]
      const { started } = await pausedRun(one, [ASK])
      await expectCode(two.inbox.resolve(two.key, started.run.id, [resolutionOf('call-0-0')]), 'run_not_found')
    })

    test('a resolution is stored while the holder runs other calls, and the run does not pause', async () => {
      const fixture = await openFixture(stores)
      const started = await startRun(fixture)
      const round = roundAfter(fixture, started.lease, started.lease.head, [{ name: 'tool' }, ASK])
      await fixture.log.appendRound(started.lease, round)
      expect(await fixture.peer.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-1')])).toEqual({
        stored: 1,
        complete: true,
      })
      await fixture.log.completeCall(started.lease, resultOf(fixture, round.tools[0]?.id ?? ''))
      expect(await fixture.log.pause(started.lease)).toBeUndefined()
      await fixture.log.endRun(started.lease, endAfter(fixture, started.lease, headOf(round)))
    })

    test('if a later round repeats a call id, the id refers to the waiting call', async () => {
      const fixture = await openFixture(stores)
      const { started, round } = await pausedRun(fixture, [{ ...ASK, id: 'same' }])
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('same', 'first')])
      const { lease } = await resume(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, headOf(round), [{ ...ASK, id: 'same' }], 1))
      await fixture.log.pause(lease)
      expect(await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('same', 'second')])).toEqual({
        stored: 1,
        complete: true,
      })
      expect((await rows(fixture)).map((row) => row.parts)).toMatchObject([[{ text: 'first' }], [{ text: 'second' }]])
    })

    test('one of two concurrent, different resolutions of a call is stored, and the other is rejected', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      const results = await Promise.allSettled([
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0', 'one')]),
        fixture.peer.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0', 'two')]),
      ])
      expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect((await header(fixture)).waiting).toBe(1)
    })

    test('if many clients send equal resolutions, all of them succeed, and one resolution is stored', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK])
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 ? fixture : fixture.peer).inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')]),
        ),
      )
      expect(results.reduce((sum, result) => sum + result.stored, 0)).toBe(1)
    })

    test('after two concurrent last resolutions, no call waits and the session is due', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      const results = await Promise.all([
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0', 'one')]),
        fixture.peer.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-1', 'two')]),
      ])
      expect(results.some((result) => result.complete)).toBe(true)
      expect(await header(fixture)).toMatchObject({ waiting: 0, due: fixture.clock.now() })
    })

    test.each(HOSTILE_TEXTS)('a resolution keeps every character: %s', async (_name, text) => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK])
      await fixture.inbox.resolve(fixture.key, started.run.id, [{ ...resolutionOf('call-0-0', text), hash: 'h' }])
      expect((await rows(fixture))[0]?.parts).toEqual([{ type: 'text', text }])
    })

    test('a resolution after a cancel is rejected: the call will be cancelled', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK])
      await fixture.inbox.cancel(fixture.key, started.run.id)
      await expectCode(
        fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')]),
        'resolution_conflict',
      )
    })

    async function resume(fixture: SessionFixture): ReturnType<Stores['lease']['claim']> {
      const taken = await fixture.lease.take(await header(fixture), 'resumes')
      if (taken === undefined) throw new Error('the run could not be resumed')
      return fixture.lease.claim(taken)
    }
  })
}
