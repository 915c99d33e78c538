/* Evidence, replay: A decision is recorded at once and only once, and only by the session's holder. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { SessionContext, Summary } from '../../functions/domain/context.ts'
import type { RunNotice } from '../../functions/domain/runs/run.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import type { Decision } from '../../functions/ports/run-log.ts'
import { endAfter, expectCode, fresh, header, newRun, openFixture, startRun, takeOver } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const USAGE = { ...NO_USAGE, inputTokens: 70, outputTokens: 30, totalTokens: 100 }

const summary = (through: string, text = 'so far'): Summary => ({
  text,
  through,
  messages: 2,
  createdAt: 1,
  usage: USAGE,
  model: 'demo/demo',
})

const WORK = { work: summary('1'), account: { owner: 'ada' } }

const notice = (after: string): RunNotice => ({
  type: 'warning',
  code: 'summary_failed',
  detail: 'no "summary" \u0000',
  after,
})

/** Contract for policy decisions about a session's requests, made by a holder or by a user. */
export function sessionContextContract(engine: Engine): void {
  describe(`session context on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('is empty until the first decision, and for unknown sessions', async () => {
      const { reader, key } = await openFixture(stores)
      expect(await reader.context(key)).toEqual({})
      expect(await reader.context({ ...key, session: 'other' })).toEqual({})
    })

    test("is stored with the run's notice and usage, in one write", async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const at = lease.head ?? ''
      const context: SessionContext = {
        summary: summary(at),
        cut: { from: at, kept: [at], messages: 3, conversational: 2 },
        decided: { at, scale: { weight: 1.5, tokens: 2, rate: 0.25 } },
      }
      await fixture.log.recordDecision(lease, { number: 0, context, notices: [notice(at)], work: summary(at) })
      await fixture.log.recordDecision(lease, { number: 1, notices: [notice('later')] })
      expect(await fixture.peer.reader.context(fixture.key)).toEqual(context)
      const after = await snapshot(fixture.peer, fixture.key)
      expect(after.runs[0]).toMatchObject({
        id: run.id,
        notices: [notice(at), notice('later')],
        decisions: 2,
        usage: { totalTokens: 100 },
        usageByAgent: { summary: { inputTokens: 70 } },
      })
      expect(after.session).toMatchObject({
        summary: context.summary,
        totals: { rounds: 0, usage: { totalTokens: 100 }, byAgent: { summary: { outputTokens: 30 } } },
      })
      const { sessions } = await fixture.sessions.list({ tenant: fixture.key.tenant, limit: 5 })
      expect(sessions[0]?.summary).toEqual(context.summary)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect((await fixture.sessions.read(fixture.key))?.totals.usage.totalTokens).toBe(110)
    })

    test('does not change when a write is repeated', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const decision: Decision = {
        number: 0,
        context: { summary: summary('1') },
        notices: [notice('1')],
        work: summary('1'),
      }
      await fixture.log.recordDecision(lease, decision)
      const once = await snapshot(fixture, fixture.key)
      await fixture.log.recordDecision(lease, decision)
      expect(await snapshot(fixture, fixture.key)).toEqual(once)
    })

    test('can contain texts of any size and kind', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const context = { summary: summary('1', 'é"\\\u0001'.repeat(100_000)) }
      const large: RunNotice = { type: 'warning', code: 'context_reduced', detail: 'x'.repeat(100_000), after: '1' }
      await fixture.log.recordDecision(lease, { number: 0, context, notices: [large] })
      expect(await fixture.reader.context(fixture.key)).toEqual(context)
      expect((await fixture.reader.run(fixture.key, lease.runId))?.notices).toEqual([large])
    })

    test('is not changed by a holder that lost its lease', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await takeOver(fixture)
      const before = await snapshot(fixture, fixture.key)
      const late = { number: 0, context: { summary: summary('1') }, notices: [notice('1')], work: summary('1') }
      await expectCode(fixture.log.recordDecision(lease, late), 'lease_lost')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
      expect(await fixture.reader.context(fixture.key)).toEqual({})
    })

    test('continues from the last decision after another holder takes over the run', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.log.recordDecision(lease, { number: 0, context: { summary: summary('1') }, notices: [] })
      const { lease: next } = await takeOver(fixture)
      expect((await fixture.reader.run(fixture.key, lease.runId))?.decisions).toBe(1)
      await fixture.peer.log.recordDecision(next, { number: 1, context: { summary: summary('2') }, notices: [] })
      expect((await fixture.reader.context(fixture.key)).summary?.through).toBe('2')
    })

    test("stores a user's summary on an idle session, counts its usage, and finds the summary by its key", async () => {
      const fixture = await openFixture(stores)
      const context = { summary: summary('1') }
      const idempotency = { keyHash: fresh('key'), bodyHash: 'body' }
      expect(await fixture.sessions.summaryUnder(fixture.key, idempotency)).toBeUndefined()
      const seen = await header(fixture)
      expect(await fixture.sessions.recordSummary(seen, { ...WORK, context, idempotency })).toBe(true)
      expect(await fixture.peer.reader.context(fixture.key)).toEqual(context)
      expect(await fixture.peer.sessions.summaryUnder(fixture.key, idempotency)).toEqual(context.summary)
      const other = { ...idempotency, bodyHash: 'other' }
      await expectCode(fixture.sessions.summaryUnder(fixture.key, other), 'idempotency_conflict')
      await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ idempotency: other })), 'idempotency_conflict')
      expect((await fixture.sessions.read(fixture.key))?.totals.byAgent).toMatchObject({
        summary: { totalTokens: 100 },
      })
      await fixture.deletion.tombstone(fixture.key)
      expect(await fixture.peer.sessions.summaryUnder(fixture.key, idempotency)).toBeUndefined()
    })

    test("refuses a user's summary during a run or after a concurrent change, but counts its usage", async () => {
      const fixture = await openFixture(stores)
      const seen = await header(fixture)
      const made = { ...WORK, context: { summary: summary('1') } }
      const { lease } = await startRun(fixture)
      expect(await fixture.sessions.recordSummary(seen, made)).toBe(false)
      expect(await fixture.sessions.recordSummary(await header(fixture), made)).toBe(false)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect(await fixture.sessions.recordSummary(seen, made)).toBe(false)
      expect(await fixture.reader.context(fixture.key)).toEqual({})
      expect((await fixture.sessions.read(fixture.key))?.totals.byAgent['summary']?.totalTokens).toBe(300)
    })

    test("stores a user's summary only if that summary was made from the session's current summary", async () => {
      const fixture = await openFixture(stores)
      const seen = await header(fixture)
      const record = (through: string, from?: string) =>
        fixture.sessions.recordSummary(seen, {
          ...WORK,
          context: { summary: summary(through) },
          ...definedFields({ from }),
        })
      expect(await record('1')).toBe(true)
      expect(await record('2')).toBe(false)
      expect(await record('2', '1')).toBe(true)
      expect((await fixture.reader.context(fixture.key)).summary?.through).toBe('2')
    })

    test('is deleted with its session', async () => {
      const fixture = await openFixture(stores)
      const seen = await header(fixture)
      await fixture.sessions.recordSummary(seen, { ...WORK, context: { summary: summary('1') } })
      await fixture.deletion.tombstone(fixture.key)
      while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      expect(await fixture.reader.context(fixture.key)).toEqual({})
      await expectCode(fixture.sessions.recordSummary(seen, WORK), 'session_not_found')
      const [from, to] = ['1970-01-01', '1970-01-02']
      const sums = await fixture.usage.sums({ tenant: fixture.key.tenant, from, to, by: 'session' })
      expect(sums).toMatchObject([{ group: fixture.key.session, completions: 2, usage: { totalTokens: 200 } }])
    })
  })
}
