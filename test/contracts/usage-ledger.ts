import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { dayOf } from '../../functions/domain/usage/usage-count.ts'
import type { UsageGroup } from '../../functions/ports/usage-ledger.ts'
import {
  endAfter,
  expectCode,
  finalMessage,
  fresh,
  headOf,
  newRun,
  openFixture,
  roundAfter,
  startRun,
} from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const DAY_MS = 86_400_000
/** Usage of a fixture's completions. */
const ONE = { ...NO_USAGE, inputTokens: 7, outputTokens: 3, totalTokens: 10 }
const TWO = { ...NO_USAGE, inputTokens: 14, outputTokens: 6, totalTokens: 20 }

/** Stores a run of two completions, one with a call. Each is stored twice, as after a lost response. */
async function runOnce(fixture: SessionFixture, owner?: string): Promise<void> {
  const account = owner === undefined ? {} : { owner }
  const { lease } = await startRun(fixture)
  const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
  for (let times = 0; times < 2; times++) await fixture.log.appendRound(lease, round, account)
  const end = endAfter(fixture, lease, headOf(round))
  for (let times = 0; times < 2; times++) await fixture.log.endRun(lease, end, account)
}

/** Returns the sums of usage over the last week, grouped by `by`. */
async function sums(fixture: SessionFixture, by: UsageGroup, owner?: string) {
  const now = fixture.clock.now()
  const days = { from: dayOf(now - 7 * DAY_MS), to: dayOf(now) }
  const query = { tenant: fixture.key.tenant, by, ...days, ...definedFields({ owner }) }
  const found = await fixture.usage.sums(query)
  return found.toSorted((left, right) => ((left.group ?? '') < (right.group ?? '') ? -1 : 1))
}

/** Contract for the counted usage of completions. */
export function usageLedgerContract(engine: Engine): void {
  describe(`usage on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('each completion is counted once, in the write that stores it, however often this write is repeated', async () => {
      const fixture = await openFixture(stores)
      const day = dayOf(fixture.clock.now())
      expect(await sums(fixture, 'day')).toEqual([])
      await runOnce(fixture)
      const sum = { model: 'demo/demo', completions: 2, usage: TWO }
      expect(await sums(fixture, 'day')).toEqual([{ group: day, ...sum }])
      expect(await sums(fixture, 'agent')).toEqual([{ group: 'helper', ...sum }])
      expect(await sums(fixture, 'model')).toEqual([{ group: 'demo/demo', ...sum }])
      expect(await sums(fixture, 'session')).toEqual([{ group: fixture.key.session, ...sum }])
      expect(await sums(fixture, 'owner')).toEqual([{ group: undefined, ...sum }])
    })

    test('each sum has one day, owner or session, and excludes other tenants and days outside the query', async () => {
      const first = await openFixture(stores, { owner: 'alice' })
      const { tenant } = first.key
      await runOnce(first, 'alice')
      const day = dayOf(first.clock.now())
      first.clock.advance(DAY_MS)
      const second = await openFixture(stores, { tenant, owner: 'bob \ud83d#' })
      await runOnce(second, 'bob \ud83d#')
      await runOnce(await openFixture(stores), 'alice')
      const next = dayOf(second.clock.now())
      const sum = { model: 'demo/demo', completions: 2, usage: TWO }
      expect(await sums(second, 'day')).toEqual([
        { group: day, ...sum },
        { group: next, ...sum },
      ])
      expect(await sums(second, 'owner')).toEqual([
        { group: 'alice', ...sum },
        { group: 'bob \ud83d#', ...sum },
      ])
      for (const by of ['day', 'agent', 'model', 'session', 'owner'] as const)
        expect(await sums(second, by, 'alice')).toMatchObject([sum])
      expect(await sums(second, 'session', 'alice')).toMatchObject([{ group: first.key.session }])
      expect(await sums(second, 'day', 'nobody')).toEqual([])
      const past = { tenant, from: day, to: day }
      expect(await second.usage.sums({ ...past, by: 'day' })).toEqual([{ group: day, ...sum }])
      expect(await second.usage.sums({ ...past, by: 'owner' })).toEqual([{ group: 'alice', ...sum }])
    })

    test('unreported counts do not change the sums, and a message without usage is not counted', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      const silent = { ...round.assistant, agent: '\u0000 "', model: 'own/ä#', usage: NO_USAGE }
      await fixture.log.appendRound(lease, { ...round, assistant: silent })
      const second = roundAfter(fixture, lease, headOf(round), [{ name: 'b' }], 1)
      const reported = { ...second.assistant, agent: silent.agent, model: silent.model }
      await fixture.log.appendRound(lease, { ...second, assistant: reported })
      const { usage: _, ...failed } = finalMessage(fixture, lease, headOf(second))
      await fixture.log.endRun(lease, { outcome: 'failed', stopReason: 'error', message: failed })
      const sum = { model: 'own/ä#', completions: 2, usage: ONE }
      expect(await sums(fixture, 'agent')).toEqual([{ group: '\u0000 "', ...sum }])
      expect(await sums(fixture, 'session')).toEqual([{ group: fixture.key.session, ...sum }])
    })

    test('a rejected round is not counted', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.lease.release(lease)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
      await expectCode(fixture.log.appendRound(lease, round), 'lease_lost')
      expect(await sums(fixture, 'day')).toEqual([])
      expect(await sums(fixture, 'session')).toEqual([])
    })

    test('each completion that is not stored still counts, even after its session was deleted', async () => {
      const fixture = await openFixture(stores, { owner: 'alice' })
      const day = dayOf(fixture.clock.now())
      const completion = { day, agent: 'helper', model: 'demo/demo', usage: ONE }
      const keyId = fresh('key')
      await runOnce(fixture, 'alice')
      await fixture.usage.count(fixture.key, completion, { owner: 'alice', keyId })
      const sum = {
        model: 'demo/demo',
        completions: 3,
        usage: { ...NO_USAGE, inputTokens: 21, outputTokens: 9, totalTokens: 30 },
      }
      for (const by of ['day', 'agent', 'model', 'session', 'owner'] as const)
        expect(await sums(fixture, by, 'alice')).toMatchObject([sum])
      expect(await sums(fixture, 'day')).toEqual([{ group: day, ...sum }])
      const refused = fixture.inbox.enqueue(fixture.key, newRun({ keyId, budget: { keyTokens: 10 } }))
      await expectCode(refused, 'key_tokens_used_up')
      const spent = fixture.inbox.enqueue(fixture.key, newRun({ budget: { tenantTokens: 30 } }))
      await expectCode(spent, 'tenant_budget_used_up')
      const gone = { tenant: fixture.key.tenant, session: fresh('session') }
      for (let times = 0; times < 2; times++) await fixture.usage.count(gone, completion, {})
      expect(await sums(fixture, 'owner')).toMatchObject([{ group: undefined, completions: 2, usage: TWO }, sum])
      expect(await sums(fixture, 'day')).toMatchObject([{ completions: 5 }])
    })

    test('the counts of a deleted session are kept', async () => {
      const fixture = await openFixture(stores)
      await runOnce(fixture)
      await fixture.inbox.enqueue(fixture.key, newRun())
      await fixture.deletion.tombstone(fixture.key)
      while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      await fixture.deletion.markRemoved(fixture.key, 0)
      await fixture.deletion.finish(fixture.key)
      expect(await sums(fixture, 'session')).toMatchObject([{ group: fixture.key.session, usage: TWO }])
      expect(await sums(fixture, 'day')).toMatchObject([{ usage: TWO }])
    })

    test('concurrent writes of several sessions are all counted', async () => {
      const first = await openFixture(stores)
      const fixtures = await Promise.all(
        Array.from({ length: 12 }, async () => {
          const key = { tenant: first.key.tenant, session: fresh('session') }
          await stores.sessions.create({ agent: 'helper', metadata: {}, ...key })
          return { ...first, key }
        }),
      )
      await Promise.all(
        fixtures.map(async (fixture) => {
          const { lease } = await startRun(fixture)
          await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
        }),
      )
      const [sum] = await sums(first, 'day')
      expect(sum).toMatchObject({ completions: 12, usage: { inputTokens: 12 * (ONE.inputTokens ?? 0) } })
      expect(await sums(first, 'session')).toHaveLength(12)
    })
  })
}
