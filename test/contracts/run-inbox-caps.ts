import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { endAfter, expectCode, fresh, header, newRun, openFixture, roundAfter, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for the cap on a key's runs that are queued, running or paused, and for the budgets of keys and tenants. */
export function runInboxCapsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: caps`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const capped = (mostActive: number) => ({ keyId: fresh('key'), mostActive })

    test.each([1, 3])('%i of 20 concurrent runs are accepted', async (cap) => {
      const tenant = fresh('tenant')
      const counted = capped(cap)
      const fixtures = await Promise.all(Array.from({ length: 20 }, () => openFixture(stores, { tenant })))
      const results = await Promise.allSettled(
        fixtures.map((fixture, place) => {
          const { inbox } = place % 2 === 0 ? fixture : fixture.peer
          return inbox.enqueue(
            fixture.key,
            newRun({ ...counted, ...(place % 3 === 0 ? { startAs: fresh('me') } : {}) }),
          )
        }),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(cap)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'too_many_active_runs' })
    })

    test('runs of all sessions count while queued, running or paused; ended, cancelled, merged and deleted runs do not', async () => {
      const tenant = fresh('tenant')
      const counted = capped(3)
      const [one, two, three] = await Promise.all([1, 2, 3].map(() => openFixture(stores, { tenant })))
      if (one === undefined || two === undefined || three === undefined) throw new Error('there are three')
      const refused = async (): Promise<void> => {
        const before = await snapshot(three, three.key)
        await expectCode(three.inbox.enqueue(three.key, newRun(counted)), 'too_many_active_runs')
        await expectCode(three.inbox.assertCapacity(tenant, counted), 'too_many_active_runs')
        expect(await snapshot(three, three.key)).toEqual(before)
      }
      await three.inbox.assertCapacity(tenant, counted)
      const { lease } = await startRun(one, counted)
      const queued = await one.inbox.enqueue(one.key, newRun(counted))
      const other = await startRun(two, counted)
      await refused()
      await two.log.appendRound(
        other.lease,
        roundAfter(two, other.lease, other.lease.head, [{ name: 'ask', needs: 'result' }]),
      )
      await two.log.pause(other.lease)
      await refused()
      expect((await three.inbox.enqueue(three.key, newRun(capped(1)))).repeated).toBe(false)
      await one.inbox.cancel(one.key, queued.runId)
      const second = await one.inbox.enqueue(one.key, newRun(counted))
      await refused()
      const messageId = endAfter(one, lease, lease.head).message?.id ?? ''
      await one.log.steer(lease, second.runId, messageId)
      const third = await one.inbox.enqueue(one.key, newRun(counted))
      await refused()
      await one.log.endRun(lease, endAfter(one, lease, messageId))
      await two.deletion.tombstone(two.key)
      await one.lease.start(await header(one), 'x')
      expect((await one.peer.reader.run(one.key, third.runId))?.status).toBe('running')
      for (let count = 0; count < 2; count++) await three.inbox.enqueue(three.key, newRun(counted))
      await refused()
    })

    test('a request that repeats an idempotency key returns the run of the first request, even at the cap', async () => {
      const fixture = await openFixture(stores)
      const idempotency = { keyHash: 'k'.repeat(64), bodyHash: 'b'.repeat(64) }
      const run = newRun({ ...capped(1), idempotency })
      const { runId } = await fixture.inbox.enqueue(fixture.key, run)
      expect(await fixture.peer.inbox.enqueue(fixture.key, run)).toEqual({ runId, repeated: true })
      const other = { ...run, idempotency: { ...idempotency, bodyHash: 'c'.repeat(64) } }
      await expectCode(fixture.inbox.enqueue(fixture.key, other), 'idempotency_conflict')
    })

    test('runs without a cap are not limited', async () => {
      const fixture = await openFixture(stores)
      const { keyId } = capped(1)
      for (let count = 0; count < 3; count++) await fixture.inbox.enqueue(fixture.key, newRun({ keyId }))
      expect((await fixture.reader.queued(fixture.key)).length).toBe(3)
    })

    /** Ends a run that used 10 tokens. */
    async function use(keyId?: string): Promise<SessionFixture> {
      const fixture = await openFixture(stores, keyId === undefined ? {} : { tenant: fresh('tenant') })
      const { lease } = await startRun(fixture)
      const account = keyId === undefined ? {} : { keyId }
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head), account)
      return fixture
    }

    test('a key with used-up daily tokens starts no run, in any session, until the next day', async () => {
      const keyId = fresh('key')
      const fixture = await use(keyId)
      const other = await openFixture(stores)
      const with10 = newRun({ keyId, budget: { keyTokens: 10 } })
      const before = await snapshot(fixture, fixture.key)
      await expectCode(fixture.inbox.enqueue(fixture.key, with10), 'key_tokens_used_up')
      await expectCode(other.inbox.enqueue(other.key, with10), 'key_tokens_used_up')
      await expectCode(other.peer.inbox.assertCapacity(other.key.tenant, with10), 'key_tokens_used_up')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
      await fixture.inbox.enqueue(fixture.key, newRun({ keyId, budget: { keyTokens: 11 } }))
      await fixture.inbox.enqueue(fixture.key, newRun({ keyId: fresh('key'), budget: { keyTokens: 1 } }))
      fixture.clock.advance(86_400_000)
      await fixture.inbox.enqueue(fixture.key, with10)
    })

    test('a tenant with used-up daily tokens starts no run, and gets a retry time', async () => {
      const fixture = await use()
      const refused = fixture.inbox.enqueue(fixture.key, newRun({ budget: { tenantTokens: 10 } }))
      const left = Math.ceil((86_400_000 - (fixture.clock.now() % 86_400_000)) / 1_000)
      await expect(refused).rejects.toMatchObject({ code: 'tenant_budget_used_up', retryAfterSeconds: left })
      const other = await openFixture(stores)
      await other.inbox.enqueue(other.key, newRun({ budget: { tenantTokens: 10 } }))
      await fixture.inbox.enqueue(fixture.key, newRun({ budget: { tenantTokens: 11 } }))
    })

    test('tokens count even if a provider does not report their total', async () => {
      const fixture = await use()
      const other = await openFixture(stores, { tenant: fixture.key.tenant })
      const { lease } = await startRun(other)
      const end = endAfter(other, lease, lease.head)
      if (end.message === undefined) throw new Error('it has a message')
      await other.log.endRun(lease, { ...end, message: { ...end.message, usage: { ...NO_USAGE, outputTokens: 4 } } })
      const refused = other.inbox.enqueue(other.key, newRun({ budget: { tenantTokens: 14 } }))
      await expectCode(refused, 'tenant_budget_used_up')
      await other.inbox.enqueue(other.key, newRun({ budget: { tenantTokens: 15 } }))
    })

    test('usage in dollars uses list prices; a model without a price counts tokens only', async () => {
      const fixture = await use()
      await fixture.inbox.enqueue(fixture.key, newRun({ budget: { tenantDollars: 0.000_001 } }))
      const priced = await openFixture(stores)
      const { lease } = await startRun(priced)
      const end = endAfter(priced, lease, lease.head)
      if (end.message === undefined) throw new Error('it has a message')
      // Per million tokens: 7 × $2 + 3 × $10.
      await priced.log.endRun(lease, { ...end, message: { ...end.message, model: 'anthropic/claude-sonnet-5-5' } })
      const refused = priced.inbox.enqueue(priced.key, newRun({ budget: { tenantDollars: 0.000_044 } }))
      await expectCode(refused, 'tenant_budget_used_up')
      await priced.inbox.enqueue(priced.key, newRun({ budget: { tenantDollars: 0.000_045 } }))
    })

    test('a request that repeats an idempotency key returns the run of the first request, even over the budget', async () => {
      const fixture = await openFixture(stores)
      const idempotency = { keyHash: 'k'.repeat(64), bodyHash: 'b'.repeat(64) }
      const run = newRun({ startAs: fresh('me'), idempotency, budget: { tenantTokens: 10 } })
      const { runId, started } = await fixture.inbox.enqueue(fixture.key, run)
      if (started === undefined) throw new Error('it starts')
      await fixture.log.endRun(started.lease, endAfter(fixture, started.lease, started.lease.head))
      await expectCode(
        fixture.inbox.enqueue(fixture.key, newRun({ budget: { tenantTokens: 10 } })),
        'tenant_budget_used_up',
      )
      expect(await fixture.inbox.enqueue(fixture.key, run)).toEqual({ runId, repeated: true })
    })
  })
}
