import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LeaseLost } from '../../functions/domain/errors.ts'
import { nextId, nextIds } from '../../functions/domain/ids.ts'
import type { ToolMessage } from '../../functions/domain/messages/message.ts'
import {
  resolutionOf,
  approvalOf,
  callOf,
  endAfter,
  expectCode,
  finalMessage,
  header,
  headOf,
  newRun,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/**
 * Contract for starts of approved calls, repairs of open calls, appended rows, steered inputs, and repeated writes.
 */
export function runLogCallsContract(engine: Engine): void {
  describe(`run log on ${engine.name}: calls and steering`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('beginApproved and repair', () => {
      test('an approved call starts under the current holder, and then ends like any other', async () => {
        const fixture = await openFixture(stores)
        const { started, round } = await pausedRun(fixture, [{ name: 'send', needs: 'approval' }])
        await fixture.inbox.resolve(fixture.key, started.run.id, [approvalOf('call-0-0', true)])
        const taken = await fixture.lease.take(await header(fixture), 'resumes')
        if (taken === undefined) throw new Error('the run could not be resumed')
        const claimed = await fixture.lease.claim(taken)
        expect(claimed.open).toMatchObject([{ status: 'approved' }])
        expect(await fixture.log.repair(claimed.lease, [])).toEqual([])
        const begun = await fixture.log.beginApproved(claimed.lease, callOf(round, 0).id)
        expect(begun).toMatchObject({ status: 'running', generation: claimed.lease.generation })
        expect(await fixture.log.beginApproved(claimed.lease, callOf(round, 0).id)).toEqual(begun)
        const ended = await fixture.log.completeCall(claimed.lease, resultOf(fixture, begun.id))
        expect(ended).toMatchObject({ status: 'completed', needs: 'approval' })
      })

      test('a denied call does not start', async () => {
        const fixture = await openFixture(stores)
        const { started, round } = await pausedRun(fixture, [
          { name: 'send', needs: 'approval' },
          { name: 'b', needs: 'approval' },
        ])
        await fixture.inbox.resolve(fixture.key, started.run.id, [
          approvalOf('call-0-0', false),
          approvalOf('call-0-1', true),
        ])
        const taken = await fixture.lease.take(await header(fixture), 'resumes')
        if (taken === undefined) throw new Error('the run could not be resumed')
        await expect(fixture.log.beginApproved(taken, callOf(round, 0).id)).rejects.toThrow()
        expect(await fixture.reader.message(fixture.key, callOf(round, 0).id)).toMatchObject({ status: 'denied' })
      })

      test('a repair closes only the named calls, and a repeated repair changes nothing', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [
          { name: 'a' },
          { name: 'b' },
          { name: 'c', needs: 'result' },
        ])
        await fixture.log.appendRound(lease, round)
        const claimed = await takeOver(fixture)
        const [closed] = await fixture.log.repair(claimed.lease, [callOf(round, 0).id])
        expect(closed).toMatchObject({ status: 'interrupted', completedAt: fixture.clock.now() })
        const once = await snapshot(fixture, fixture.key)
        expect(await fixture.log.repair(claimed.lease, [callOf(round, 0).id])).toEqual([closed])
        expect(await snapshot(fixture, fixture.key)).toEqual(once)
        expect(once.messages.slice(2)).toMatchObject([
          { status: 'interrupted' },
          { status: 'running' },
          { status: 'waiting' },
        ])
        expect(once.header).toMatchObject({ waiting: 1 })
      })
    })

    describe('append', () => {
      test('adds rows after all others; a repeat adds none', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        await fixture.log.appendRound(lease, round)
        const ids = nextIds(callOf(round, 0).id, fixture.clock.now(), 64)
        const refused = ids.map((id, place): ToolMessage => ({
          ...callOf(round, 0),
          id,
          sequence: place + 64,
          status: 'error',
          parts: [{ type: 'text', text: 'error: no' }],
          completedAt: fixture.clock.now(),
          durationMs: 0,
        }))
        await fixture.log.append(lease, refused)
        const once = await snapshot(fixture, fixture.key)
        expect(once.messages.slice(3)).toEqual(refused)
        expect(once.header).toMatchObject({ head: ids.at(-1), waiting: 0 })
        await fixture.log.append(lease, refused)
        await fixture.log.appendRound(lease, round)
        expect(await snapshot(fixture, fixture.key)).toEqual(once)
        const other = { ...callOf(round, 0), toolName: 'b' }
        await expectCode(fixture.log.append(lease, [other]), 'storage_failed')
      })

      test('adds nothing for a former holder', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        await fixture.log.appendRound(lease, round)
        await takeOver(fixture)
        const before = await snapshot(fixture, fixture.key)
        const id = nextId(callOf(round, 0).id, fixture.clock.now())
        const late = fixture.log.append(lease, [{ ...callOf(round, 0), id, sequence: 64, status: 'error' }])
        await expect(late).rejects.toThrow(LeaseLost)
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
      })
    })

    describe('steer', () => {
      test('a queued input becomes a user message of the running run', async () => {
        const fixture = await openFixture(stores)
        const { lease, run } = await startRun(fixture)
        const input = { parts: [{ type: 'text', text: 'rather \ud83d' }], user: 'bob', metadata: { a: 1 } } as const
        const queued = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer', input }))
        const id = nextId(lease.head, fixture.clock.now())
        const message = await fixture.log.steer(lease, queued.runId, id)
        expect(message).toMatchObject({ ...input, id, role: 'user', runId: run.id })
        const stored = await snapshot(fixture, fixture.key)
        expect(stored.messages.at(-1)).toEqual(message)
        expect(stored.header).toMatchObject({ queued: 0, head: id })
        const merged = await fixture.reader.run(fixture.key, queued.runId)
        expect(merged).toMatchObject({ status: 'merged', mergedInto: run.id, mergedAs: id })
        expect(await fixture.log.steer(lease, queued.runId, id)).toEqual(message)
        expect(await snapshot(fixture, fixture.key)).toEqual(stored)
      })

      test('an input that is no longer queued returns undefined and writes nothing', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const queued = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
        await fixture.inbox.cancel(fixture.key, queued.runId)
        const before = await snapshot(fixture, fixture.key)
        expect(await fixture.log.steer(lease, queued.runId, nextId(lease.head, fixture.clock.now()))).toBeUndefined()
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
      })
    })

    describe("after the store's response was lost", () => {
      test('a stored round, result or end is recognised by its ids, and the repeat returns an equal value', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        await fixture.log.appendRound(lease, round)
        await fixture.peer.log.appendRound(lease, round)
        const result = { ...resultOf(fixture, callOf(round, 0).id), searched: true as const }
        const stored = await fixture.log.completeCall(lease, result)
        expect(stored.searched).toBe(true)
        expect(await fixture.peer.log.completeCall(lease, result)).toEqual(stored)
        const end = endAfter(fixture, lease, headOf(round))
        const ended = await fixture.log.endRun(lease, end)
        const after = await snapshot(fixture, fixture.key)
        expect(await fixture.peer.log.endRun(lease, end)).toMatchObject({ run: ended?.run })
        expect(await snapshot(fixture, fixture.key)).toEqual(after)
        const other = { ...end, message: finalMessage(fixture, lease, headOf(round), 'other') }
        await expectCode(fixture.log.endRun(lease, other), 'lease_lost')
        expect(await snapshot(fixture, fixture.key)).toEqual(after)
      })

      test('a stored resolution is recognised by its hash', async () => {
        const fixture = await openFixture(stores)
        const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
        await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
        const again = await fixture.peer.inbox.resolve(fixture.key, started.run.id, [resolutionOf('call-0-0')])
        expect(again).toEqual({ stored: 0, complete: true })
      })
    })
  })
}
