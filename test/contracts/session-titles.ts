import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { titleOf } from '../../functions/log/title.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import type { NewRun } from '../../functions/ports/run-inbox.ts'
import type { NewSession } from '../../functions/ports/session-store.ts'
import { importInputs } from './import-inputs.ts'
import { endAfter, expectCode, fresh, newRun, openFixture, startRun, type SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const said = (text: string): Partial<NewRun> => ({ input: { parts: [{ type: 'text', text }] } })
const work = { model: 'demo/small', createdAt: Date.UTC(2026, 0, 5, 9), usage: { ...NO_USAGE, totalTokens: 12 } }

/**
 * Contract for titles. The write that accepts the first input also sets the title. A title of a higher rank replaces it, but a
 * user's title is never replaced.
 */
export function sessionTitlesContract(engine: Engine): void {
  describe(`titles of sessions on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const titleIn = async ({ key, peer }: SessionFixture): Promise<readonly (string | undefined)[]> => {
      const session = await peer.sessions.read(key)
      return [session?.title, session?.titleSource]
    }

    test('the write that accepts the first input also sets the title', async () => {
      const started = await openFixture(stores)
      await startRun(started, said('# Plan a *trip*\nto Rome'))
      expect(await titleIn(started)).toEqual(['Plan a trip', 'input'])
      const queued = await openFixture(stores)
      await queued.inbox.enqueue(queued.key, newRun(said('Waits in the queue')))
      await queued.inbox.enqueue(queued.key, newRun(said('Comes later')))
      expect(await titleIn(queued)).toEqual(['Waits in the queue', 'input'])
    })

    test('titles and metadata of many sessions are read together, and only within the tenant', async () => {
      const tenant = fresh('tenant')
      const make = (more: Partial<NewSession>): NewSession => ({
        ...{ tenant, session: fresh('session'), agent: 'helper', metadata: {} },
        ...more,
      })
      const named = (n: number): NewSession =>
        make({ metadata: { folder: `/p/${n}` }, ...(n % 2 === 0 ? { title: `T${n}` } : {}) })
      const made = await Promise.all(Array.from({ length: 60 }, (_, n) => stores.sessions.create(named(n))))
      const [foreign, gone] = [
        await stores.sessions.create(make({ tenant: fresh('tenant'), title: 'secret' })),
        made.pop(),
      ]
      if (gone !== undefined) await stores.peer.deletion.tombstone(gone)
      const fixture = await openFixture(stores, { tenant })
      await startRun(fixture, said('Book a flight'))
      const asked = [...made.map(({ session }) => session), foreign.session, gone?.session ?? '', 'never']
      const labels = await stores.peer.sessions.readLabels(tenant, [...asked, fixture.key.session])
      expect(Object.fromEntries(labels)).toEqual({
        ...Object.fromEntries(
          made.map(({ session, title, metadata }) => [session, { metadata, ...definedFields({ title }) }]),
        ),
        [fixture.key.session]: { metadata: expect.anything() as unknown, title: 'Book a flight' },
      })
      expect(await stores.sessions.readLabels(tenant, [])).toEqual(new Map())
    })

    test('the next input sets the title if the first has no letter or digit', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture, said('???\n---'))
      expect(await titleIn(fixture)).toEqual([undefined, undefined])
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      await startRun(fixture, said('And now?'))
      expect(await titleIn(fixture)).toEqual(['And now?', 'input'])
    })

    test('the input of the first run sets the title if ten inputs are concurrent', async () => {
      const fixture = await openFixture(stores)
      const texts = Array.from({ length: 10 }, (_, n) => `Question ${n}`)
      const accepted = await Promise.all(
        texts.map((text, n) => (n % 2 ? fixture : fixture.peer).inbox.enqueue(fixture.key, newRun(said(text)))),
      )
      const ids = accepted.map(({ runId }) => runId)
      const first = ids.indexOf(ids.toSorted()[0] ?? '')
      expect(await titleIn(fixture)).toEqual([texts[first], 'input'])
    })

    test("a user's title is never replaced by other titles", async () => {
      const fixture = await openFixture(stores, { title: 'Mine' })
      expect(await titleIn(fixture)).toEqual(['Mine', 'given'])
      await startRun(fixture, said('Hello'))
      await fixture.sessions.describe(fixture.key, { title: { text: 'Theirs', source: 'agent' } })
      await fixture.sessions.recordTitle(fixture.key, { title: 'Made', work, account: {} })
      expect(await titleIn(fixture)).toEqual(['Mine', 'given'])
    })

    test("an agent's title replaces titles of inputs, models and agents", async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture, said('Hello'))
      await fixture.sessions.recordTitle(fixture.key, { title: 'Made', work, account: {} })
      expect(await titleIn(fixture)).toEqual(['Made', 'model'])
      for (const text of ['First', 'Second']) {
        await fixture.sessions.describe(fixture.key, { title: { text, source: 'agent' } })
        expect(await titleIn(fixture)).toEqual([text, 'agent'])
      }
      await fixture.sessions.recordTitle(fixture.key, { title: 'Late', work, account: {} })
      expect(await titleIn(fixture)).toEqual(['Second', 'agent'])
    })

    test('a change sets a title, and null restores the title of the first input', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture, said('Hello'))
      const renamed = await fixture.sessions.update(fixture.key, { title: 'Renamed' })
      expect(renamed).toMatchObject({ title: 'Renamed', titleSource: 'given' })
      await fixture.sessions.update(fixture.key, { metadata: { a: 1 } })
      expect(await titleIn(fixture)).toEqual(['Renamed', 'given'])
      await fixture.sessions.update(fixture.key, { title: null })
      expect(await titleIn(fixture)).toEqual(['Hello', 'input'])
    })

    test('a title given at creation keeps its source', async () => {
      const fixture = await openFixture(stores, { title: 'Hello (copy)', titleSource: 'input' })
      await startRun(fixture, said('Something else'))
      expect(await titleIn(fixture)).toEqual(['Hello (copy)', 'input'])
    })

    test('an import sets the title from the first input of the leader', async () => {
      const fixture = await openFixture(stores)
      await importInputs(fixture, [{ text: 'A task', parent: 'call-1' }, { text: '**Fix** it' }, { text: 'Then?' }])
      expect(await titleIn(fixture)).toEqual(['Fix it', 'input'])
    })

    test('describing a session changes the named metadata, and does not count as activity', async () => {
      const fixture = await openFixture(stores, { metadata: { kept: true, folder: '/a' } })
      const before = await fixture.sessions.read(fixture.key)
      stores.clock.advance(1_000)
      await fixture.sessions.describe(fixture.key, { metadata: { folder: '/b', branch: 'main' } })
      expect(await fixture.peer.sessions.read(fixture.key)).toEqual({
        ...before,
        metadata: { kept: true, folder: '/b', branch: 'main' },
      })
      await expectCode(fixture.sessions.describe({ ...fixture.key, session: fresh('s') }, {}), 'session_not_found')
    })

    test("tokens for a model's title count under `title`, also if the title is not stored", async () => {
      const fixture = await openFixture(stores, { owner: 'ada' })
      const { lease } = await startRun(fixture, said('Hello'))
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      await fixture.sessions.recordTitle(fixture.key, { title: 'Made', work, account: { owner: 'ada' } })
      await fixture.sessions.recordTitle(fixture.key, { work, account: { owner: 'ada' } })
      const session = await fixture.peer.sessions.read(fixture.key)
      expect(session?.totals.byAgent['title']?.totalTokens).toBe(24)
      expect(session?.totals).toMatchObject({ runs: 1, rounds: 1 })
      await fixture.deletion.tombstone(fixture.key)
      await fixture.sessions.recordTitle(fixture.key, { title: 'Late', work, account: { owner: 'ada' } })
      const days = { from: '2026-01-01', to: '2026-01-31' }
      const sums = await fixture.usage.sums({ tenant: fixture.key.tenant, by: 'agent', ...days })
      expect(sums.find(({ group }) => group === 'title')?.usage.totalTokens).toBe(36)
    })

    test.each([
      ['empty', ''],
      ['long', 'word '.repeat(200_000)],
      ['lone surrogate', 'x\ud83d y'],
    ])('any text can be the first input: %s', async (_name, text) => {
      const fixture = await openFixture(stores)
      await startRun(fixture, said(text))
      expect((await titleIn(fixture))[0]).toBe(titleOf(text))
    })
  })
}
