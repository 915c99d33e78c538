import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextIds } from '../../functions/domain/ids.ts'
import { HEARTBEAT_MS, LEASE_MS } from '../../functions/domain/session.ts'
import {
  callOf,
  endAfter,
  expectCode,
  finalMessage,
  headOf,
  header,
  newRun,
  openScene,
  pausedRun,
  roundAfter,
  startRun,
  takeOver,
} from './scene.ts'
import type { Engine, Stores } from './stores.ts'

const DAY_MS = 86_400_000

/** What is counted, ordered and remembered beside the steps of a run; each was once taken out without any suite noticing. */
export function runCountsContract(engine: Engine): void {
  describe(`counts and order on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a run begins without the takeovers of the one before', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      const { lease } = await takeOver(scene)
      expect((await header(scene)).takeovers).toBe(1)
      await scene.inbox.enqueue(scene.key, newRun())
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head, 'failed'))
      expect(await scene.lease.start(await header(scene), 'next')).toBeDefined()
      expect((await header(scene)).takeovers).toBe(0)
    })

    test('a steering input ends the count of takeovers', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      const { lease } = await takeOver(scene)
      const steering = await scene.inbox.enqueue(scene.key, newRun({ onBusy: 'steer' }))
      const [id = ''] = nextIds(lease.head, scene.clock.now(), 1)
      expect(await scene.log.steer(lease, steering.runId, id)).toMatchObject({ id })
      expect((await header(scene)).takeovers).toBe(0)
    })

    test('an end whose message does not come last is refused, and nothing is stored', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const [early = ''] = nextIds(undefined, scene.clock.now() - DAY_MS, 1)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
      await scene.log.appendRound(lease, round)
      const end = {
        ...endAfter(scene, lease, headOf(round)),
        message: { ...finalMessage(scene, lease, headOf(round)), id: early },
      }
      await expectCode(scene.log.endRun(lease, end), 'storage_failed')
      expect(await header(scene)).toMatchObject({ activeRun: lease.runId, head: headOf(round) })
    })

    test('a round whose ids do not ascend is refused', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const first = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
      await scene.log.appendRound(lease, first)
      const [before = ''] = nextIds(undefined, scene.clock.now() - DAY_MS, 1)
      const second = roundAfter(scene, lease, headOf(first), [{ name: 'b' }], 1)
      await expectCode(
        scene.log.appendRound(lease, { ...second, assistant: { ...second.assistant, id: before } }),
        'storage_failed',
      )
      expect((await header(scene)).head).toBe(headOf(first))
    })

    test('an end without a message is told from that of a later holder', async () => {
      const scene = await openScene(stores)
      const { lease: first } = await startRun(scene)
      await scene.inbox.cancel(scene.key, first.runId)
      const { lease: second } = await takeOver(scene)
      const end = { outcome: 'cancelled', stopReason: 'cancelled' } as const
      expect(await scene.peer.log.endRun(second, end)).toBeDefined()
      expect(await scene.peer.log.endRun(second, end)).toBeDefined()
      await expectCode(scene.log.endRun(first, end), 'lease_lost')
    })

    test('a pause puts the expiry off', async () => {
      const scene = await openScene(stores, { ttlDays: 2 })
      const { lease } = await startRun(scene)
      scene.clock.advance(1.5 * DAY_MS)
      await scene.lease.heartbeat(lease, scene.clock.now() + LEASE_MS)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'ask', needs: 'approval' }])
      await scene.log.appendRound(lease, round)
      expect(await scene.log.pause(lease)).toBeDefined()
      scene.clock.advance(DAY_MS)
      const expired = await scene.janitor.expired(scene.clock.now(), 10_000)
      expect(expired.some((key) => key.session === scene.key.session)).toBe(false)
    })

    test('an idempotency key can be used again after a day', async () => {
      const scene = await openScene(stores)
      const run = newRun({ idempotency: { keyHash: 'key', bodyHash: 'body' } })
      const first = await scene.inbox.enqueue(scene.key, run)
      scene.clock.advance(DAY_MS - 1_000)
      expect(await scene.inbox.enqueue(scene.key, run)).toEqual({ runId: first.runId, repeated: true })
      scene.clock.advance(2_000)
      const later = await scene.inbox.enqueue(scene.key, run)
      expect(later.repeated).toBe(false)
      expect(later.runId > first.runId).toBe(true)
    })

    test('a session whose holder lives is not due, however long it takes', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      for (let beats = 0; beats < 20; beats++) {
        scene.clock.advance(HEARTBEAT_MS)
        await scene.lease.heartbeat(lease, scene.clock.now() + LEASE_MS)
      }
      expect((await header(scene)).due).toBeGreaterThan(scene.clock.now() - LEASE_MS)
    })

    test('the activity of a session never moves back with the clock', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const before = (await scene.sessions.read(scene.key))?.updatedAt ?? 0
      scene.clock.advance(-60_000)
      await scene.log.endRun(lease, endAfter(scene, lease, lease.head))
      expect((await scene.sessions.read(scene.key))?.updatedAt).toBeGreaterThanOrEqual(before)
      scene.clock.advance(60_000)
    })

    test('another round under the id of a stored one is refused', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
      await scene.log.appendRound(lease, round)
      const other = {
        assistant: { ...round.assistant, parts: [{ type: 'text', text: 'something else' } as const] },
        tools: [{ ...callOf(round, 0), toolCallId: 'another' }],
      }
      await expectCode(scene.log.appendRound(lease, other), 'storage_failed')
    })

    test('a repair leaves alone what is no longer running', async () => {
      const scene = await openScene(stores)
      const { lease } = await startRun(scene)
      const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'ask', needs: 'approval' }])
      await scene.log.appendRound(lease, round)
      const ids = round.tools.map(({ id }) => id)
      const { lease: next } = await takeOver(scene)
      const repaired = await scene.peer.log.repair(next, ids)
      expect(repaired.map(({ status }) => status)).toEqual(['interrupted', 'waiting'])
      scene.clock.advance(1_000)
      expect(await scene.peer.log.repair(next, ids)).toEqual(repaired)
    })

    test('a session that was deleted does not expire, however old its tombstone is', async () => {
      const scene = await openScene(stores, { ttlDays: 1 })
      await scene.deletion.tombstone(scene.key)
      await scene.deletion.markRemoved(scene.key, 0)
      await scene.deletion.finish(scene.key)
      scene.clock.advance(31 * DAY_MS)
      const expired = await scene.janitor.expired(scene.clock.now(), 10_000)
      expect(expired.some((key) => key.session === scene.key.session)).toBe(false)
    })

    test('a resolution counts down, and only the last one says that all are in', async () => {
      const scene = await openScene(stores)
      const { started } = await pausedRun(scene, [
        { name: 'ask', needs: 'approval' },
        { name: 'ask', needs: 'approval' },
      ])
      const allow = (toolCallId: string) => [
        { toolCallId, kind: 'approval', approved: true, hash: toolCallId } as const,
      ]
      expect((await scene.inbox.resolve(scene.key, started.run.id, allow('call-0-0'))).complete).toBe(false)
      expect((await scene.inbox.resolve(scene.key, started.run.id, allow('call-0-1'))).complete).toBe(true)
    })
  })
}
