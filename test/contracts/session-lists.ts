import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { SessionFilter } from '../../functions/domain/session-filter.ts'
import type { NewSession } from '../../functions/ports/session-store.ts'
import { importInputs } from './import-inputs.ts'
import { endAfter, expectCode, fresh, openFixture, startRun, type SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'
import { isWhole } from '../whole.ts'

const SORTS = ['last_message_at', 'updated_at', 'created_at'] as const
const ORDERS = ['desc', 'asc'] as const
const MAX_PAGES = 100

/** Contract for lists of sessions: three orders, filters, and complete pages. */
export function sessionListsContract(engine: Engine): void {
  describe(`lists of sessions on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    /** Returns the ids of all pages. */
    async function listed(filter: Omit<SessionFilter, 'limit'> & { readonly limit?: number }): Promise<string[]> {
      const ids: string[] = []
      let after: string | undefined
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const asked = { limit: 100, ...filter, ...definedFields({ after }) }
        const page = await stores.peer.sessions.list(asked)
        expect(page.sessions.length).toBeLessThanOrEqual(asked.limit)
        expect(page.next?.length ?? 0).toBeLessThanOrEqual(40)
        ids.push(...page.sessions.map(({ session }) => session))
        after = page.next
        if (after === undefined) return ids
      }
      throw new Error(`the list has more than ${MAX_PAGES} pages`)
    }

    const made = (tenant: string, session: string, more: Partial<NewSession> = {}): Promise<SessionFixture> =>
      openFixture(stores, { tenant, session, ...more })

    test('sessions are sorted by each time in each order, and those without messages come last', async () => {
      const tenant = fresh('tenant')
      // The sessions are created in the order a, b, c, d, e. The order by last message is c, a, b; d and e have no message.
      const [a, b, c] = [await made(tenant, 'a'), await made(tenant, 'b'), await made(tenant, 'c')]
      await made(tenant, 'd')
      await made(tenant, 'e')
      const now = stores.clock.now()
      for (const [place, fixture] of [c, a, b].entries())
        await importInputs(fixture, [{ text: 'hi', createdAt: now - 100_000 + place * 1_000 }])
      stores.clock.advance(1_000)
      await stores.sessions.update(c.key, { title: 'Renamed' })
      stores.clock.advance(1_000)
      await stores.sessions.update({ tenant, session: 'd' }, { title: 'Renamed' })
      expect(await listed({ tenant })).toEqual(['b', 'a', 'c', 'e', 'd'])
      expect(await listed({ tenant, order: 'asc' })).toEqual(['c', 'a', 'b', 'd', 'e'])
      expect((await listed({ tenant, sort: 'updated_at' })).slice(0, 2)).toEqual(['d', 'c'])
      expect((await listed({ tenant, sort: 'updated_at', order: 'asc' })).slice(-2)).toEqual(['c', 'd'])
      expect(await listed({ tenant, sort: 'created_at' })).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(await listed({ tenant, sort: 'created_at', order: 'asc' })).toEqual(['a', 'b', 'c', 'd', 'e'])
    })

    test('pages of every order show each session once, also sessions with equal times', async () => {
      const tenant = fresh('tenant')
      const long = (n: number): string => `${n}`.padStart(128, 'x')
      for (let n = 0; n < 12; n++) {
        if (n % 4 === 0) stores.clock.advance(1_000)
        const key = { tenant, session: long(n) }
        const owner = 'o'.repeat(256)
        await stores.sessions.create({ ...key, agent: 'helper', owner, metadata: { folder: '/a', source: 'x' } })
        if (n % 3 > 0) await importInputs({ ...stores, key }, [{ text: 'hi', createdAt: 1_000 * (n % 3) }])
      }
      const all = Array.from({ length: 12 }, (_, n) => long(n)).toSorted()
      const folder = { key: 'folder', value: '/a', isPrefix: false }
      for (const sort of SORTS)
        for (const order of ORDERS) {
          expect((await listed({ tenant, sort, order, limit: 3 })).toSorted()).toEqual(all)
          expect((await listed({ tenant, sort, order, limit: 3, owner: 'o'.repeat(256) })).toSorted()).toEqual(all)
          expect((await listed({ tenant, sort, order, limit: 5, metadata: [folder] })).toSorted()).toEqual(all)
          expect(await listed({ tenant, sort, order, limit: 3 })).toEqual(await listed({ tenant, sort, order }))
        }
    })

    test('`since` and `until` select sessions by the time that sorts the list, and both limits are inclusive', async () => {
      const tenant = fresh('tenant')
      const times: number[] = []
      for (const session of ['a', 'b', 'c', 'd']) {
        const fixture = await made(tenant, session)
        times.push(stores.clock.now())
        if (session !== 'd') await importInputs(fixture, [{ text: 'hi', createdAt: times.length * 1_000 }])
      }
      expect(await listed({ tenant, since: 2_000 })).toEqual(['c', 'b'])
      expect(await listed({ tenant, until: 2_000, order: 'asc' })).toEqual(['a', 'b'])
      expect(await listed({ tenant, since: 2_000, until: 2_000, limit: 1 })).toEqual(['b'])
      expect(await listed({ tenant, since: 2_001, until: 2_999 })).toEqual([])
      const bounds = { since: times[1] ?? 0, until: times[2] ?? 0 }
      expect(await listed({ tenant, sort: 'created_at', ...bounds })).toEqual(['c', 'b'])
      expect(await listed({ tenant, sort: 'updated_at', ...bounds, limit: 1 })).toEqual(['c', 'b'])
    })

    test('filters on owner, agent, state, folder and source work alone and together', async () => {
      const tenant = fresh('tenant')
      const at = (folder: string, source: string) => ({ metadata: { folder, source } })
      const a = await made(tenant, 'a', { owner: 'ada', agent: 'other', ...at('/p', 'codex') })
      await made(tenant, 'b', { owner: 'ada', ...at('/p', 'claude-code') })
      const c = await made(tenant, 'c', { owner: 'bob', ...at('/p/q', 'codex') })
      await made(tenant, 'd')
      for (const fixture of [a, c]) await startRun(fixture)
      const exact = (key: string, value: string) => ({ key, value, isPrefix: false })
      for (const sort of SORTS) {
        const find = async (filter: object): Promise<string[]> =>
          (await listed({ tenant, sort, limit: 2, ...filter })).toSorted()
        expect(await find({ owner: 'ada' })).toEqual(['a', 'b'])
        expect(await find({ agent: 'helper' })).toEqual(['b', 'c', 'd'])
        expect(await find({ runStatus: 'running' })).toEqual(['a', 'c'])
        expect(await find({ metadata: [exact('folder', '/p')] })).toEqual(['a', 'b'])
        expect(await find({ metadata: [exact('source', 'codex')] })).toEqual(['a', 'c'])
        expect(await find({ metadata: [exact('source', 'codex'), exact('folder', '/p')] })).toEqual(['a'])
        expect(await find({ owner: 'ada', agent: 'helper', metadata: [exact('folder', '/p')] })).toEqual(['b'])
        expect(await find({ runStatus: 'running', owner: 'bob', agent: 'helper' })).toEqual(['c'])
        expect(await find({ runStatus: 'failed' })).toEqual([])
      }
    })

    test('after a change, filters on state, agent and metadata use the new values', async () => {
      const tenant = fresh('tenant')
      const fixture = await made(tenant, 'a', { metadata: { folder: '/p' } })
      const { lease } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      await stores.sessions.update(fixture.key, { agent: 'other' })
      await stores.sessions.describe(fixture.key, { metadata: { folder: '/q', source: 'codex' } })
      const exact = (key: string, value: string) => ({ metadata: [{ key, value, isPrefix: false }] })
      expect(await listed({ tenant, runStatus: 'completed' })).toEqual(['a'])
      expect(await listed({ tenant, runStatus: 'running' })).toEqual([])
      expect(await listed({ tenant, agent: 'other' })).toEqual(['a'])
      expect(await listed({ tenant, agent: 'helper' })).toEqual([])
      expect(await listed({ tenant, ...exact('folder', '/q') })).toEqual(['a'])
      expect(await listed({ tenant, ...exact('folder', '/p') })).toEqual([])
      expect(await listed({ tenant, ...exact('source', 'codex') })).toEqual(['a'])
      await stores.sessions.update(fixture.key, { metadata: {} })
      expect(await listed({ tenant, ...exact('folder', '/q') })).toEqual([])
    })

    test('metadata is compared exactly or by its beginning, whatever the name of the field', async () => {
      const tenant = fresh('tenant')
      await made(tenant, 'a', { metadata: { folder: '/home/ada/shop', 'a.b': 'x', n: 5, yes: true } })
      await made(tenant, 'b', { metadata: { folder: '/home/ada', 'a.b': 'xy', n: '5', list: ['x'] } })
      await made(tenant, 'c', { metadata: { folder: '/home/bob*', __proto__: 'x' } })
      const find = async (key: string, value: string, isPrefix = false): Promise<string[]> =>
        (await listed({ tenant, metadata: [{ key, value, isPrefix }] })).toSorted()
      expect(await find('folder', '/home/ada', true)).toEqual(['a', 'b'])
      expect(await find('folder', '/home/ada')).toEqual(['b'])
      expect(await find('folder', '/home/bob*')).toEqual(['c'])
      expect(await find('a.b', 'x')).toEqual(['a'])
      expect(await find('a.b', 'x', true)).toEqual(['a', 'b'])
      expect(await find('n', '5')).toEqual(['a', 'b'])
      expect(await find('yes', 'true')).toEqual(['a'])
      expect(await find('list', 'x')).toEqual([])
      expect(await find('toString', 'function', true)).toEqual([])
    })

    test('ids are found by owner and metadata, alone and together', async () => {
      const tenant = fresh('tenant')
      const at = (folder: string, branch: string) => ({ metadata: { folder, branch } })
      await made(tenant, 'a', { owner: 'ada', ...at('/p', 'main') })
      await made(tenant, 'b', { owner: 'ada', ...at('/p', 'fix') })
      await made(tenant, 'c', { owner: 'bob', ...at('/p/q', 'main') })
      await made(tenant, 'd')
      const find = async (metadata: SessionFilter['metadata'], owner?: string) =>
        (
          await stores.peer.sessions.findIds({
            tenant,
            ...definedFields({ owner }),
            ...{ metadata: metadata ?? [] },
          })
        )?.toSorted()
      const [folder, main] = [
        { key: 'folder', value: '/p', isPrefix: false },
        { key: 'branch', value: 'main', isPrefix: false },
      ]
      expect(await find([folder])).toEqual(['a', 'b'])
      expect(await find([{ ...folder, isPrefix: true }])).toEqual(['a', 'b', 'c'])
      expect(await find([main])).toEqual(['a', 'c'])
      expect(await find([main], 'ada')).toEqual(['a'])
      expect(await find([folder, main])).toEqual(['a'])
      expect(await find([{ ...folder, value: '/none' }])).toEqual([])
      expect(await find(undefined)).toEqual(['a', 'b', 'c', 'd'])
    })

    test.runIf(isWhole || !engine.isSlow)(
      'no ids are returned if more than 1,000 sessions would be compared or returned',
      async () => {
        const tenant = fresh('tenant')
        const create = (n: number): Promise<unknown> =>
          stores.sessions.create({ tenant, session: `s${n}`, agent: 'helper', metadata: { folder: '/p', n: n % 2 } })
        for (let n = 0; n < 1_000; n += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => create(n + at)))
        const [folder, odd] = [
          { key: 'folder', value: '/p', isPrefix: false },
          { key: 'n', value: '1', isPrefix: false },
        ]
        const found = async (metadata: SessionFilter['metadata'] = []): Promise<number | undefined> =>
          (await stores.peer.sessions.findIds({ tenant, metadata }))?.length
        expect([await found([folder]), await found([odd])]).toEqual([1_000, 500])
        await create(1_000)
        expect([await found([folder]), await found([odd])]).toEqual([undefined, undefined])
        expect(await found([{ ...folder, value: '/q' }])).toBe(0)
      },
    )

    test('`q` finds words of the title and of the first input by their beginnings', async () => {
      const tenant = fresh('tenant')
      const input = (text: string) => ({ input: { parts: [{ type: 'text', text }] as const } })
      await startRun(await made(tenant, 'a', { title: 'Naïve plans' }), input('Book a flight\nto Reykjavík'))
      await startRun(await made(tenant, 'b'), input('日本語のログを読む flight'))
      await made(tenant, 'c', { title: 'A flight of stairs' })
      const find = async (q: string): Promise<string[]> => (await listed({ tenant, q })).toSorted()
      expect(await find('flight')).toEqual(['a', 'b', 'c'])
      expect(await find('FLI stai')).toEqual(['c'])
      expect(await find('naive reyk')).toEqual(['a'])
      expect(await find('light')).toEqual([])
      expect(await find('ログ')).toEqual(['b'])
      expect(await find('flight nothing')).toEqual([])
      expect(await listed({ tenant, q: 'flight', agent: 'helper', order: 'asc', limit: 1 })).toEqual(['a', 'b', 'c'])
    })

    test('a session that moves to the front is listed again; sessions after the cursor keep their order', async () => {
      const tenant = fresh('tenant')
      for (const session of ['a', 'b', 'c', 'd']) await importInputs(await made(tenant, session), [{ text: 'hi' }])
      const first = await stores.sessions.list({ tenant, limit: 2 })
      expect(first.sessions.map(({ session }) => session)).toEqual(['d', 'c'])
      stores.clock.advance(1_000)
      await importInputs({ ...stores, key: { tenant, session: 'c' } }, [{ text: 'again' }])
      await stores.deletion.tombstone({ tenant, session: 'd' })
      const rest = await stores.sessions.list({ tenant, limit: 2, after: first.next ?? '' })
      expect(rest.sessions.map(({ session }) => session)).toEqual(['b', 'a'])
      expect(await listed({ tenant })).toEqual(['c', 'b', 'a'])
    })

    test('the cursor of another list is refused', async () => {
      const tenant = fresh('tenant')
      for (const session of ['a', 'b', 'c']) await made(tenant, session)
      const { next: after = '' } = await stores.sessions.list({ tenant, limit: 1 })
      expect((await stores.sessions.list({ tenant, limit: 2, after })).sessions).toHaveLength(2)
      const metadata = [{ key: 'folder', value: '/a', isPrefix: false }]
      for (const other of [
        ...[{ sort: 'created_at' }, { order: 'asc' }, { since: 0 }, { until: 9 }, { q: 'x' }, { metadata }],
        ...[{ owner: 'ada' }, { agent: 'helper' }, { runStatus: 'running' }, { tenant: fresh('tenant') }],
      ] as const)
        await expectCode(stores.sessions.list({ tenant, limit: 1, ...other, after }), 'cursor_not_found')
      for (const wrong of [`${after}x`.slice(1), `${after.slice(0, 9)}`, `${after.slice(0, 9)}nonsense`])
        await expectCode(stores.sessions.list({ tenant, limit: 1, after: wrong }), 'cursor_not_found')
    })
  })
}
