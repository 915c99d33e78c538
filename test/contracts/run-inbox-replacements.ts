import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextId, nextIds } from '../../functions/domain/ids.ts'
import type { Replacement } from '../../functions/domain/runs/replacement.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import type { NewRun } from '../../functions/ports/run-inbox.ts'
import { importInputs } from './import-inputs.ts'
import { endAfter, expectCode, fresh, header, newRun, openFixture, pausedRun, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { allMessages, snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** The ids of an ended run: its own, and those of its input and its answer. */
interface Turn {
  readonly run: string
  readonly input: string
  readonly answer: string
}

/** Advances the clock by one second, and executes a run that takes one second. */
async function turn(fixture: SessionFixture, run: Partial<NewRun> = {}): Promise<Turn> {
  fixture.clock.advance(1_000)
  const { lease, message } = await startRun(fixture, run)
  fixture.clock.advance(1_000)
  const end = endAfter(fixture, lease, lease.head)
  await fixture.log.endRun(lease, end)
  return { run: lease.runId, input: message?.id ?? '', answer: end.message?.id ?? '' }
}

const replaced = (by: Turn, from: Turn, through: Turn): Replacement => ({
  by: by.run,
  from: from.run,
  messages: { from: from.input, through: through.answer },
})

const messagesOf = async ({ peer, key }: SessionFixture) => (await peer.sessions.read(key))?.messages
const textOf = (fixture: SessionFixture) => fixture.peer.reader.replacements(fixture.key)

const SUMMARY = { messages: 1, createdAt: 5, usage: NO_USAGE }

/** Contract for runs that replace earlier runs. */
export function runInboxReplacementsContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: replacements`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a run that replaces another supersedes it and all later runs, and the log keeps their messages', async () => {
      const fixture = await openFixture(stores)
      const turns = [await turn(fixture), await turn(fixture), await turn(fixture)] as const
      const before = await snapshot(fixture, fixture.key)
      expect(before.replacements).toEqual([])
      const by = await turn(fixture, { replaces: turns[1].run })
      const after = await snapshot(fixture.peer, fixture.key)
      expect(after.replacements).toEqual([replaced(by, turns[1], turns[2])])
      expect(after.messages.slice(0, 6)).toEqual(before.messages)
      expect(after.runs.slice(0, 3)).toEqual(before.runs)
    })

    test('a second replacement of the same run supersedes the first replacement', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const second = await turn(fixture, { replaces: first.run })
      const third = await turn(fixture, { replaces: first.run })
      const fourth = await turn(fixture, { replaces: third.run })
      expect(await textOf(fixture)).toEqual([
        replaced(second, first, first),
        replaced(third, first, second),
        replaced(fourth, third, third),
      ])
    })

    test.each(['started', 'queued'] as const)(
      'the write that accepts a %s replacement removes superseded messages from the session’s counts and times',
      async (kind) => {
        const fixture = await openFixture(stores)
        const first = await turn(fixture)
        const kept = await messagesOf(fixture)
        const second = await turn(fixture)
        await turn(fixture, { replaces: second.run })
        expect((await messagesOf(fixture))?.count).toBe(4)
        fixture.clock.advance(1_000)
        const startAs = kind === 'started' ? { startAs: fresh('owner') } : {}
        await fixture.inbox.enqueue(fixture.key, newRun({ replaces: second.run, ...startAs }))
        const input = kind === 'started' ? { count: 3, lastAt: fixture.clock.now() } : {}
        expect(await messagesOf(fixture)).toEqual({ ...kept, ...input })
        expect((await fixture.sessions.list({ tenant: fixture.key.tenant, limit: 5 })).sessions).toMatchObject([
          { messages: { ...kept, ...input } },
        ])
        expect(first.run < second.run).toBe(true)
      },
    )

    test('a session whose messages are all superseded counts no messages until the next input becomes a message', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ replaces: first.run }))
      expect(await messagesOf(fixture)).toEqual({ count: 0 })
      fixture.clock.advance(1_000)
      const started = await fixture.lease.start(await header(fixture), fresh('owner'))
      expect(started?.run.id).toBe(runId)
      const at = fixture.clock.now()
      expect(await messagesOf(fixture)).toEqual({ count: 1, firstAt: at, lastAt: at })
      expect((await fixture.sessions.list({ tenant: fixture.key.tenant, limit: 5 })).sessions).toHaveLength(1)
    })

    test('superseded imported messages affect neither the count nor the times of a session', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const kept = await messagesOf(fixture)
      const past = fixture.clock.now() - 1_000_000_000
      await importInputs(fixture, [{ text: 'old', createdAt: past }])
      expect(await messagesOf(fixture)).toMatchObject({ count: 3, firstAt: past })
      const imported = (await allMessages(fixture.reader, fixture.key)).at(-1)?.runId ?? ''
      await fixture.inbox.enqueue(fixture.key, newRun({ replaces: imported }))
      expect(await messagesOf(fixture)).toEqual(kept)
      expect((await textOf(fixture))[0]?.messages?.from).not.toBe(first.input)
    })

    test('the replacement of a run without messages supersedes only messages of later runs', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      await fixture.inbox.cancel(fixture.key, queued.runId)
      const end = endAfter(fixture, lease, lease.head)
      await fixture.log.endRun(lease, end)
      const count = await messagesOf(fixture)
      const second = await turn(fixture, { replaces: queued.runId })
      expect(await textOf(fixture)).toEqual([{ by: second.run, from: queued.runId }])
      expect(await messagesOf(fixture)).toMatchObject({ count: (count?.count ?? 0) + 2 })
      const third = await turn(fixture, { replaces: queued.runId })
      expect(await textOf(fixture)).toEqual([
        { by: second.run, from: queued.runId },
        { by: third.run, from: queued.runId, messages: { from: second.input, through: second.answer } },
      ])
    })

    test('a replacement of a merged run supersedes the run that it was merged into', async () => {
      const fixture = await openFixture(stores)
      const { lease, message } = await startRun(fixture)
      const steering = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
      const [steered = ''] = nextIds(lease.head, fixture.clock.now(), 1)
      await fixture.log.steer(lease, steering.runId, steered)
      await fixture.log.endRun(lease, endAfter(fixture, lease, steered))
      const by = await turn(fixture, { replaces: steering.runId })
      expect(await textOf(fixture)).toMatchObject([{ by: by.run, from: lease.runId, messages: { from: message?.id } }])
    })

    test('a repeated request returns the run of the first request, and replaces no further messages', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const idempotency = { keyHash: fresh('key'), bodyHash: 'body' }
      const again = { replaces: first.run, idempotency, startAs: fresh('owner') }
      const { runId, started } = await fixture.inbox.enqueue(fixture.key, newRun(again))
      const after = await snapshot(fixture, fixture.key)
      const repeat = (): Promise<unknown> => fixture.peer.inbox.enqueue(fixture.key, newRun(again))
      expect(await repeat()).toEqual({ runId, repeated: true })
      if (started === undefined) throw new Error('the session was not idle')
      await fixture.log.endRun(started.lease, endAfter(fixture, started.lease, started.lease.head))
      expect(await repeat()).toEqual({ runId, repeated: true })
      expect(await textOf(fixture)).toEqual(after.replacements)
    })

    test('an idempotency key finds its run for a day, or until its session is deleted', async () => {
      const fixture = await openFixture(stores)
      const claim = (keyHash: string) => fixture.peer.inbox.findClaim(fixture.key, keyHash)
      expect(await claim('short')).toBeUndefined()
      const first = await turn(fixture, { idempotency: { keyHash: 'short', bodyHash: 'one' } })
      const second = await turn(fixture, { idempotency: { keyHash: 'long', bodyHash: 'two', forGood: true } })
      expect(await claim('short')).toEqual({ runId: first.run, bodyHash: 'one' })
      fixture.clock.advance(2 * 86_400_000)
      expect(await claim('short')).toBeUndefined()
      expect(await claim('long')).toEqual({ runId: second.run, bodyHash: 'two' })
      await fixture.deletion.tombstone(fixture.key)
      expect(await claim('long')).toBeUndefined()
    })

    test('a replacement is rejected, and stores nothing, for an unknown run and while any run has not ended', async () => {
      const fixture = await openFixture(stores)
      const other = await openFixture(stores, { tenant: fixture.key.tenant })
      const foreign = await turn(other)
      const first = await turn(fixture)
      const rejects = async (replaces: string, code: Parameters<typeof expectCode>[1]): Promise<void> => {
        const before = await snapshot(fixture, fixture.key)
        for (const onBusy of ['queue', 'reject', 'steer'] as const)
          await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ replaces, onBusy, startAs: fresh('o') })), code)
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
      }
      for (const unknown of [foreign.run, nextId(undefined, 5), '', 'x', "'", 'x'.repeat(3_000)])
        await rejects(unknown, 'run_not_found')
      const running = await startRun(fixture)
      await rejects(first.run, 'session_busy')
      await rejects(running.run.id, 'session_busy')
      await fixture.inbox.cancel(fixture.key, running.run.id)
      await rejects(first.run, 'session_busy')
      await fixture.log.endRun(running.lease, endAfter(fixture, running.lease, running.lease.head, 'cancelled'))
      await fixture.inbox.enqueue(fixture.key, newRun())
      await rejects(first.run, 'session_busy')
    })

    test('while a run is paused, a replacement is rejected, although an ordinary input would supersede the paused run', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const { started } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      const before = await snapshot(fixture, fixture.key)
      for (const replaces of [first.run, started.run.id])
        await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ replaces, onBusy: 'reject' })), 'session_busy')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
    })

    test('a run that the summary covers cannot be replaced, but the next run can', async () => {
      const fixture = await openFixture(stores)
      const [first, second] = [await turn(fixture), await turn(fixture)]
      const work = { usage: SUMMARY.usage, model: 'demo/demo', createdAt: 5 }
      const summary = { ...SUMMARY, text: 'so far', through: first.answer, model: 'demo/demo' }
      const seen = await header(fixture)
      const made = { work, account: {}, context: { summary } }
      expect(await fixture.sessions.recordSummary(seen, made)).toBe(true)
      const before = await snapshot(fixture, fixture.key)
      await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ replaces: first.run })), 'summarised')
      expect(await snapshot(fixture, fixture.key)).toEqual(before)
      await turn(fixture, { replaces: second.run })
      expect(await textOf(fixture)).toHaveLength(1)
    })

    test('a summary of replaced messages is not stored, even if the replacement was cancelled', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const seen = await header(fixture)
      const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ replaces: first.run }))
      const work = { usage: SUMMARY.usage, model: 'demo/demo', createdAt: 5 }
      const summary = { ...SUMMARY, text: 'so far', through: first.answer, model: 'demo/demo' }
      const record = (): Promise<boolean> =>
        fixture.peer.sessions.recordSummary(seen, { work, account: {}, context: { summary } })
      expect(await record()).toBe(false)
      await fixture.inbox.cancel(fixture.key, runId)
      expect(await record()).toBe(false)
      expect(await fixture.reader.context(fixture.key)).toEqual({})
    })

    test('a superseded run that failed is not continued', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
      const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ replaces: lease.runId }))
      await fixture.inbox.cancel(fixture.key, runId)
      await expectCode(fixture.inbox.enqueue(fixture.key, newRun({ trigger: 'continue' })), 'nothing_to_continue')
    })

    test('exactly one of several concurrent replacements is accepted', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      const ports = [fixture, fixture.peer, fixture, fixture.peer]
      const results = await Promise.allSettled(
        ports.map(({ inbox }) => inbox.enqueue(fixture.key, newRun({ replaces: first.run, startAs: fresh('owner') }))),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await textOf(fixture)).toHaveLength(1)
    })

    test('an unknown or deleted session has no replacements', async () => {
      const fixture = await openFixture(stores)
      const first = await turn(fixture)
      await turn(fixture, { replaces: first.run })
      await fixture.deletion.tombstone(fixture.key)
      expect(await textOf(fixture)).toEqual([])
      expect(await fixture.reader.replacements({ ...fixture.key, session: 'unknown' })).toEqual([])
      while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      expect(await textOf(fixture)).toEqual([])
    })
  })
}
