/* Evidence, durability: A run with a hundred agents ends, and each agent is counted once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import { HEARTBEAT_MS, LEASE_MS } from '../../functions/domain/session.ts'
import type { Lease } from '../../functions/domain/session.ts'
import type { Usage } from '../../functions/domain/usage/usage.ts'
import {
  callOf,
  endAfter,
  expectCode,
  finalMessage,
  headOf,
  header,
  newRun,
  openFixture,
  pausedRun,
  roundAfter,
  startRun,
  takeOver,
  type SessionFixture,
} from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const DAY_MS = 86_400_000

/** Usage from a provider that reports every field. */
const FULL = {
  inputTokens: 6,
  cachedInputTokens: 5,
  cacheWriteTokens: 4,
  outputTokens: 3,
  reasoningTokens: 2,
  totalTokens: 1,
} satisfies Usage

/** Stores a round for each of `agents` agents. Returns the log's last id. */
async function roundsOfAgents(fixture: SessionFixture, lease: Lease, agents: number): Promise<string | undefined> {
  let { head } = lease
  for (let place = 0; place < agents; place++) {
    const { assistant } = roundAfter(fixture, lease, head, [], place)
    await fixture.log.appendRound(lease, {
      assistant: { ...assistant, agent: `agent ${place}`, usage: FULL },
      tools: [],
    })
    head = assistant.id
  }
  return head
}

/**
 * Contract for counts, order and state that the steps of a run update. No other suite covers the code that these tests
 * cover.
 */
export function runCountsContract(engine: Engine): void {
  describe(`counts and order on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('each run starts with zero takeovers, whatever the count of the previous run', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const { lease } = await takeOver(fixture)
      expect((await header(fixture)).takeovers).toBe(1)
      await fixture.inbox.enqueue(fixture.key, newRun())
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
      expect(await fixture.lease.start(await header(fixture), 'next')).toBeDefined()
      expect((await header(fixture)).takeovers).toBe(0)
    })

    test('a steering input resets the count of takeovers', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const { lease } = await takeOver(fixture)
      const steering = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
      const [id = ''] = nextIds(lease.head, fixture.clock.now(), 1)
      expect(await fixture.log.steer(lease, steering.runId, id)).toMatchObject({ id })
      expect((await header(fixture)).takeovers).toBe(0)
    })

    test('an end whose message id is not the highest is rejected, and nothing is stored', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const [early = ''] = nextIds(undefined, fixture.clock.now() - DAY_MS, 1)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await fixture.log.appendRound(lease, round)
      const end = {
        ...endAfter(fixture, lease, headOf(round)),
        message: { ...finalMessage(fixture, lease, headOf(round)), id: early },
      }
      await expectCode(fixture.log.endRun(lease, end), 'storage_failed')
      expect(await header(fixture)).toMatchObject({ activeRun: lease.runId, head: headOf(round) })
    })

    test('a round whose ids do not ascend is rejected', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const first = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await fixture.log.appendRound(lease, first)
      const [before = ''] = nextIds(undefined, fixture.clock.now() - DAY_MS, 1)
      const second = roundAfter(fixture, lease, headOf(first), [{ name: 'b' }], 1)
      await expectCode(
        fixture.log.appendRound(lease, { ...second, assistant: { ...second.assistant, id: before } }),
        'storage_failed',
      )
      expect((await header(fixture)).head).toBe(headOf(first))
    })

    test("a former holder's end is refused after another holder has stored an equal end without a message", async () => {
      const fixture = await openFixture(stores)
      const { lease: first } = await startRun(fixture)
      await fixture.inbox.cancel(fixture.key, first.runId)
      const { lease: second } = await takeOver(fixture)
      const end = { outcome: 'cancelled', stopReason: 'cancelled' } as const
      expect(await fixture.peer.log.endRun(second, end)).toBeDefined()
      expect(await fixture.peer.log.endRun(second, end)).toBeDefined()
      await expectCode(fixture.log.endRun(first, end), 'lease_lost')
    })

    test('a run of a hundred agents ends, and each agent is counted once', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const head = await roundsOfAgents(fixture, lease, 100)
      const end = endAfter(fixture, lease, head)
      const message = end.message && { ...end.message, agent: 'agent 0', usage: FULL }
      const ended = await fixture.log.endRun(lease, { ...end, ...definedFields({ message }) })
      const twice = Object.fromEntries(Object.entries(FULL).map(([field, count]) => [field, 2 * count]))
      const counted = { 'agent 0': twice, 'agent 99': FULL }
      expect(ended?.run).toMatchObject({ rounds: 101, usageByAgent: counted })
      expect(await fixture.reader.run(fixture.key, run.id)).toMatchObject({ rounds: 101, usageByAgent: counted })
      const session = await fixture.sessions.read(fixture.key)
      expect(session?.totals).toMatchObject({ rounds: 101, byAgent: counted, usage: { totalTokens: 101 } })
      expect(Object.keys(session?.totals.byAgent ?? {})).toHaveLength(100)
    })

    test('a session can be deleted during a run of a hundred agents', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await roundsOfAgents(fixture, lease, 100)
      expect(await fixture.deletion.tombstone(fixture.key)).toBe(true)
    })

    test('a pause postpones the expiry', async () => {
      const fixture = await openFixture(stores, { ttlDays: 2 })
      const { lease } = await startRun(fixture)
      fixture.clock.advance(1.5 * DAY_MS)
      await fixture.lease.heartbeat(lease, fixture.clock.now() + LEASE_MS)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'ask', needs: 'approval' }])
      await fixture.log.appendRound(lease, round)
      expect(await fixture.log.pause(lease)).toBeDefined()
      fixture.clock.advance(DAY_MS)
      const expired = await fixture.janitor.expired(fixture.clock.now(), 10_000)
      expect(expired.some((key) => key.session === fixture.key.session)).toBe(false)
    })

    test('an idempotency key can be reused after a day', async () => {
      const fixture = await openFixture(stores)
      const run = newRun({ idempotency: { keyHash: 'key', bodyHash: 'body' } })
      const first = await fixture.inbox.enqueue(fixture.key, run)
      fixture.clock.advance(DAY_MS - 1_000)
      expect(await fixture.inbox.enqueue(fixture.key, run)).toEqual({ runId: first.runId, repeated: true })
      fixture.clock.advance(2_000)
      const later = await fixture.inbox.enqueue(fixture.key, run)
      expect(later.repeated).toBe(false)
      expect(later.runId > first.runId).toBe(true)
    })

    test('a session whose holder is alive is not due, however long its run takes', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      for (let beats = 0; beats < 20; beats++) {
        fixture.clock.advance(HEARTBEAT_MS)
        await fixture.lease.heartbeat(lease, fixture.clock.now() + LEASE_MS)
      }
      expect((await header(fixture)).due).toBeGreaterThan(fixture.clock.now() - LEASE_MS)
    })

    test('the activity time of a session never decreases, even if the clock is set back', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const before = (await fixture.sessions.read(fixture.key))?.updatedAt ?? 0
      fixture.clock.advance(-60_000)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect((await fixture.sessions.read(fixture.key))?.updatedAt).toBeGreaterThanOrEqual(before)
      fixture.clock.advance(60_000)
    })

    test('another round under the id of a stored round is rejected', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await fixture.log.appendRound(lease, round)
      const other = {
        assistant: { ...round.assistant, parts: [{ type: 'text', text: 'something else' } as const] },
        tools: [{ ...callOf(round, 0), toolCallId: 'another' }],
      }
      await expectCode(fixture.log.appendRound(lease, other), 'storage_failed')
    })

    test('a repair does not change calls that are no longer running', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'ask', needs: 'approval' }])
      await fixture.log.appendRound(lease, round)
      const ids = round.tools.map(({ id }) => id)
      const { lease: next } = await takeOver(fixture)
      const repaired = await fixture.peer.log.repair(next, ids)
      expect(repaired.map(({ status }) => status)).toEqual(['interrupted', 'waiting'])
      fixture.clock.advance(1_000)
      expect(await fixture.peer.log.repair(next, ids)).toEqual(repaired)
    })

    test('a deleted session does not expire, however old its tombstone is', async () => {
      const fixture = await openFixture(stores, { ttlDays: 1 })
      await fixture.deletion.tombstone(fixture.key)
      await fixture.deletion.markRemoved(fixture.key, 0)
      await fixture.deletion.finish(fixture.key)
      fixture.clock.advance(31 * DAY_MS)
      const expired = await fixture.janitor.expired(fixture.clock.now(), 10_000)
      expect(expired.some((key) => key.session === fixture.key.session)).toBe(false)
    })

    test('each resolution reduces the count of waiting calls; only the last resolution reports completion', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [
        { name: 'ask', needs: 'approval' },
        { name: 'ask', needs: 'approval' },
      ])
      const allow = (toolCallId: string) => [
        { toolCallId, kind: 'approval', approved: true, hash: toolCallId } as const,
      ]
      expect((await fixture.inbox.resolve(fixture.key, started.run.id, allow('call-0-0'))).complete).toBe(false)
      expect((await fixture.inbox.resolve(fixture.key, started.run.id, allow('call-0-1'))).complete).toBe(true)
    })
  })
}
