import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { NewSession } from '../../functions/ports/session-store.ts'
import {
  endAfter,
  expectCode,
  fresh,
  HOSTILE_TEXTS,
  newRun,
  openFixture,
  pausedRun,
  startRun,
} from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const DAY = 86_400_000

/** Contract for sessions: created once, changed in part, listed by activity, absent when deleted. */
export function sessionStoreContract(engine: Engine): void {
  describe(`session store on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const make = (session: Partial<NewSession> = {}): NewSession => ({
      tenant: fresh('tenant'),
      session: fresh('session'),
      agent: 'helper',
      metadata: {},
      ...session,
    })

    test("a session is read as it was created, without runs and with the clock's times", async () => {
      const full = make({
        owner: 'ada',
        user: 'grace',
        title: 'Trip',
        instructions: 'Be brief',
        metadata: { a: [1, null, { b: '' }] },
      })
      const created = await stores.sessions.create(full)
      expect(created).toMatchObject({ ...full, createdAt: stores.clock.now(), updatedAt: stores.clock.now() })
      expect(created.totals).toMatchObject({ runs: 0, rounds: 0, byAgent: {} })
      expect(await stores.peer.sessions.read(full)).toEqual(created)
    })

    test('fields without a value are absent', async () => {
      const { tenant, session } = await stores.sessions.create(make())
      const read = await stores.sessions.read({ tenant, session })
      expect(Object.keys(read ?? {}).toSorted()).toEqual(
        ['agent', 'createdAt', 'messages', 'metadata', 'session', 'tenant', 'totals', 'updatedAt'].toSorted(),
      )
    })

    test('a duplicate id is rejected, and the first session stays unchanged', async () => {
      const first = await stores.sessions.create(make({ title: 'first' }))
      await expectCode(stores.sessions.create(make({ ...first, title: 'second' })), 'session_exists')
      expect(await stores.sessions.read(first)).toMatchObject({ title: 'first' })
    })

    test('one of ten concurrent creations of an id succeeds', async () => {
      const session = make()
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? stores : stores.peer).sessions.create({ ...session, title: `${n}` }),
        ),
      )
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'session_exists' })
    })

    test('an equal id in another tenant is another session', async () => {
      const first = await stores.sessions.create(make({ title: 'first' }))
      const second = await stores.sessions.create(make({ session: first.session, title: 'second' }))
      expect(await stores.sessions.read(first)).toMatchObject({ title: 'first' })
      expect(await stores.sessions.read(second)).toMatchObject({ title: 'second' })
      expect(await stores.sessions.read({ tenant: fresh('tenant'), session: first.session })).toBeUndefined()
    })

    test.each(HOSTILE_TEXTS.filter(([name]) => name !== '400 kB'))(
      'texts keep every character: %s',
      async (_name, text) => {
        const session = make({ title: text, instructions: text, owner: `o${text}`, metadata: { [`k${text}`]: text } })
        await stores.sessions.create(session)
        expect(await stores.sessions.read(session)).toMatchObject(session)
      },
    )

    test('a change keeps omitted fields, removes fields set to null and updates the activity time', async () => {
      const session = await stores.sessions.create(
        make({ user: 'ann', title: 'old', instructions: 'keep', metadata: { a: 1 } }),
      )
      stores.clock.advance(1000)
      const changed = await stores.sessions.update(session, { title: null, agent: 'other' })
      expect(changed).toEqual({
        tenant: session.tenant,
        session: session.session,
        agent: 'other',
        user: 'ann',
        instructions: 'keep',
        metadata: { a: 1 },
        createdAt: session.createdAt,
        updatedAt: stores.clock.now(),
        totals: session.totals,
        messages: { count: 0 },
      })
      expect(await stores.peer.sessions.read(session)).toEqual(changed)
      await stores.sessions.update(session, { metadata: { b: 2 }, user: null, instructions: null, title: '' })
      const last = await stores.sessions.read(session)
      expect(last).toMatchObject({ metadata: { b: 2 }, title: '' })
      expect(last).not.toHaveProperty('instructions')
      expect(last).not.toHaveProperty('user')
      expect(last?.metadata).not.toHaveProperty('a')
    })

    test('binding a session to its owner, at creation or later, is permanent and does not count as activity', async () => {
      const made = await stores.sessions.create(make({ owner: 'ada', ownerBound: true }))
      expect(await stores.peer.sessions.read(made)).toMatchObject({ ownerBound: true })
      const later = await stores.sessions.create(make({ owner: 'ada', title: 'Trip', metadata: { a: 1 } }))
      expect(later).not.toHaveProperty('ownerBound')
      stores.clock.advance(1000)
      await stores.sessions.bindToOwner(later)
      await stores.sessions.bindToOwner(later)
      expect(await stores.peer.sessions.read(later)).toEqual({ ...later, ownerBound: true })
      await stores.sessions.update(later, { title: null, agent: 'other' })
      expect(await stores.peer.sessions.read(later)).toMatchObject({ ownerBound: true, agent: 'other' })
      await expectCode(stores.sessions.bindToOwner(make()), 'session_not_found')
    })

    test('a session created by a channel stays marked as created by a channel', async () => {
      const made = await stores.sessions.create(make({ owner: 'ada', byChannel: true }))
      expect(made.byChannel).toBe(true)
      await stores.sessions.bindToOwner(made)
      await stores.sessions.update(made, { title: 'Trip' })
      expect(await stores.peer.sessions.read(made)).toMatchObject({ byChannel: true, ownerBound: true, title: 'Trip' })
      expect(await stores.sessions.create(make())).not.toHaveProperty('byChannel')
    })

    test('reading an unknown session returns undefined, and changing it is an error', async () => {
      expect(await stores.sessions.read(make())).toBeUndefined()
      await expectCode(stores.sessions.update(make(), { title: 'x' }), 'session_not_found')
    })

    test('a deleted session cannot be read or changed, and its id is free after 30 days', async () => {
      const session = make({ title: 'secret' })
      await stores.sessions.create(session)
      await stores.deletion.tombstone(session)
      expect(await stores.sessions.read(session)).toBeUndefined()
      await expectCode(stores.sessions.update(session, { title: 'x' }), 'session_not_found')
      expect((await stores.sessions.list({ tenant: session.tenant, limit: 10 })).sessions).toEqual([])
      await stores.deletion.removeRows(session, 1000)
      await stores.deletion.markRemoved(session, 0)
      await stores.deletion.finish(session)
      stores.clock.advance(30 * DAY - 60_000)
      await expectCode(stores.sessions.create(session), 'session_exists')
      stores.clock.advance(120_000)
      const again = await stores.sessions.create(make({ tenant: session.tenant, session: session.session }))
      expect(again).not.toHaveProperty('title')
      expect(await stores.deletion.state(session)).toBeUndefined()
    })

    test('a check of many ids returns the live sessions of the tenant', async () => {
      const tenant = fresh('tenant')
      const made = await Promise.all(Array.from({ length: 120 }, () => stores.sessions.create(make({ tenant }))))
      const [foreign, gone, removed] = [await stores.sessions.create(make()), made.pop(), made.pop()]
      for (const session of [gone, removed]) if (session !== undefined) await stores.peer.deletion.tombstone(session)
      if (removed !== undefined) await stores.peer.deletion.removeRows(removed, 1000)
      const ids = made.map(({ session }) => session)
      const asked = [...ids, foreign.session, gone?.session ?? '', removed?.session ?? '', 'never']
      expect((await stores.sessions.living(tenant, asked)).symmetricDifference(new Set(ids))).toEqual(new Set())
      expect(await stores.sessions.living(tenant, [])).toEqual(new Set())
    })

    test('a list shows the newest activity first: creation, change, start and end of runs', async () => {
      const fixture = await openFixture(stores)
      const others = await Promise.all(
        [1, 2, 3].map(() => stores.sessions.create(make({ tenant: fixture.key.tenant }))),
      )
      const [a, b, c] = others.map((session) => session.session)
      const order = async (): Promise<string[]> =>
        (await stores.peer.sessions.list({ tenant: fixture.key.tenant, sort: 'updated_at', limit: 10 })).sessions.map(
          (found) => found.session,
        )
      const touch = async (change: () => Promise<unknown>): Promise<void> => {
        stores.clock.advance(1000)
        await change()
      }
      await touch(() => stores.sessions.update({ tenant: fixture.key.tenant, session: a ?? '' }, { title: 'a' }))
      await touch(() => stores.sessions.update({ tenant: fixture.key.tenant, session: b ?? '' }, { title: 'b' }))
      await touch(() => startRun(fixture))
      expect((await order()).slice(0, 3)).toEqual([fixture.key.session, b, a])
      await touch(() => stores.sessions.update({ tenant: fixture.key.tenant, session: c ?? '' }, { title: 'c' }))
      expect((await order()).slice(0, 2)).toEqual([c, fixture.key.session])
    })

    test('pages of a list show every session once, also sessions with equal activity times', async () => {
      const tenant = fresh('tenant')
      const made = await Promise.all(
        Array.from({ length: 25 }, (_, n) => {
          if (n % 5 === 0) stores.clock.advance(1000)
          return stores.sessions.create(make({ tenant }))
        }),
      )
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await stores.sessions.list({ tenant, limit: 4, ...definedFields({ after }) })
        expect(page.sessions.length).toBeLessThanOrEqual(4)
        seen.push(...page.sessions.map((session) => session.session))
        after = page.next
      } while (after !== undefined)
      expect(seen).toHaveLength(25)
      expect(seen.toSorted()).toEqual(made.map((session) => session.session).toSorted())
    })

    test('an invalid cursor is refused', async () => {
      for (const after of ['', 'nonsense', '%', Buffer.from('x:y').toString('base64url'), 'A'.repeat(5000)])
        await expectCode(stores.sessions.list({ tenant: 'nobody', limit: 10, after }), 'cursor_not_found')
    })

    test('a list filters by owner, agent and the state of the latest run, also across pages', async () => {
      const tenant = fresh('tenant')
      const running = await openFixture(stores, { tenant, owner: 'ada' })
      const paused = await openFixture(stores, { tenant, owner: 'bob', agent: 'other' })
      const done = await openFixture(stores, { tenant, owner: 'ada', agent: 'other' })
      await openFixture(stores, { tenant, owner: 'bob' })
      await startRun(running)
      await pausedRun(paused, [{ name: 'ask', needs: 'result' }])
      const { lease } = await startRun(done)
      await done.log.endRun(lease, endAfter(done, lease, lease.head))
      const find = async (filter: object): Promise<string[]> =>
        (await stores.sessions.list({ tenant, limit: 1000, ...filter })).sessions.map((session) => session.session)
      expect((await find({ owner: 'ada' })).toSorted()).toEqual([running.key.session, done.key.session].toSorted())
      expect((await find({ agent: 'other' })).toSorted()).toEqual([paused.key.session, done.key.session].toSorted())
      expect(await find({ runStatus: 'running' })).toEqual([running.key.session])
      expect(await find({ runStatus: 'paused' })).toEqual([paused.key.session])
      expect(await find({ runStatus: 'completed' })).toEqual([done.key.session])
      expect(await find({ runStatus: 'completed', owner: 'bob' })).toEqual([])
      const first = await stores.sessions.list({ tenant, limit: 1, owner: 'ada' })
      const rest = await stores.sessions.list({ tenant, limit: 1, owner: 'ada', after: first.next ?? '' })
      expect([...first.sessions, ...rest.sessions].map((found) => found.session).toSorted()).toEqual(
        [running.key.session, done.key.session].toSorted(),
      )
    })

    test('a session shows its latest run and its totals', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      expect(await fixture.sessions.read(fixture.key)).toMatchObject({ run: { id: run.id, status: 'running' } })
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      const read = await fixture.sessions.read(fixture.key)
      expect(read).toMatchObject({ run: { id: run.id, status: 'completed' }, totals: { runs: 1 } })
      expect(read?.totals.usage).toMatchObject({ inputTokens: 7, outputTokens: 3, cachedInputTokens: null })
      expect(read?.totals.byAgent['helper']).toMatchObject({ totalTokens: 10 })
      const queued = await fixture.inbox.enqueue(fixture.key, newRun())
      expect((await fixture.sessions.read(fixture.key))?.run).toEqual({ id: queued.runId, status: 'queued' })
    })

    test('a change does not disturb the holder of the lease', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await fixture.peer.sessions.update(fixture.key, { title: 'changed' })
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect(await fixture.sessions.read(fixture.key)).toMatchObject({ title: 'changed', run: { status: 'completed' } })
    })
  })

  describe(`session store on ${engine.name} that fails`, () => {
    test('a failing store rejects, and never reports that nothing exists', async () => {
      const stores = await engine.open()
      const { key } = await openFixture(stores)
      await stores.breakDown()
      await expect(stores.sessions.read(key)).rejects.toThrow()
      await expect(stores.sessions.living(key.tenant, [key.session])).rejects.toThrow()
      await expect(stores.sessions.readLabels(key.tenant, [key.session])).rejects.toThrow()
      await expect(stores.sessions.findIds({ tenant: key.tenant })).rejects.toThrow()
      await expect(stores.sessions.list({ tenant: key.tenant, limit: 10 })).rejects.toThrow()
      await expect(stores.sessions.update(key, { title: 'x' })).rejects.toThrow()
      await expect(stores.sessions.create(make())).rejects.toThrow()
      await stores.close()
    })
    const make = (): NewSession => ({ tenant: fresh('tenant'), session: fresh('s'), agent: 'helper', metadata: {} })
  })
}
