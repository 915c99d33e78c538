import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectCode, fresh, openFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const DAY_MS = 86_400_000

/** Contract for names of sessions. */
export function sessionNamesContract(engine: Engine): void {
  describe(`names of sessions on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a name finds its session and its data, in every process and in no other tenant', async () => {
      const { names, peer, key } = await openFixture(stores)
      const [name, about] = [fresh('ü # name'), { run: 'r', more: { text: 'päpä' } }]
      expect(await names.find(key.tenant, name)).toBeUndefined()
      await names.give(key, name, about)
      expect(await peer.names.find(key.tenant, name)).toEqual({ session: key.session, about })
      expect(await names.find(fresh('tenant'), name)).toBeUndefined()
      expect(await names.find(key.tenant, `${name} `)).toBeUndefined()
    })

    test('a name refers to the session that received it last', async () => {
      const { names, peer, sessions, key } = await openFixture(stores)
      const other = { ...key, session: fresh('other') }
      await sessions.create({ ...other, agent: 'helper', metadata: {} })
      const name = fresh('name')
      await names.give(key, name, { at: 1 })
      await names.give(key, name, { at: 2 })
      expect(await peer.names.find(key.tenant, name)).toEqual({ session: key.session, about: { at: 2 } })
      await peer.names.give(other, name, { at: 3 })
      expect(await names.find(key.tenant, name)).toEqual({ session: other.session, about: { at: 3 } })
    })

    test('a name with an expiry is forgotten after that time; a name without an expiry is kept', async () => {
      const { names, key, clock } = await openFixture(stores)
      const [short, long] = [fresh('short'), fresh('long')]
      await names.give(key, short, {}, clock.now() + DAY_MS)
      await names.give(key, long, {})
      clock.advance(DAY_MS)
      expect(await names.find(key.tenant, short)).toBeDefined()
      clock.advance(1)
      expect(await names.find(key.tenant, short)).toBeUndefined()
      clock.advance(400 * DAY_MS)
      expect(await names.find(key.tenant, long)).toBeDefined()
      await names.give(key, short, { again: true })
      expect(await names.find(key.tenant, short)).toMatchObject({ about: { again: true } })
    })

    test('deleting a session removes its names at once and permanently, and removes no other names', async () => {
      const gone = await openFixture(stores)
      const { names, deletion, key, clock } = gone
      const kept = { ...key, session: fresh('kept') }
      await gone.sessions.create({ ...kept, agent: 'helper', metadata: {} })
      const [own, passedOn] = [Array.from({ length: 120 }, () => fresh('own')), fresh('passed-on')]
      for (const name of own) await names.give(key, name, {})
      await names.give(key, passedOn, { of: 'gone' })
      await names.give(kept, passedOn, { of: 'kept' })
      await deletion.tombstone(key)
      expect(await names.find(key.tenant, own[0] ?? '')).toBeUndefined()
      await expectCode(names.give(key, fresh('late'), {}), 'session_not_found')
      while ((await deletion.removeRows(key, 1_000)).more);
      await deletion.markRemoved(key, 0)
      await deletion.finish(key)
      expect(await names.find(key.tenant, passedOn)).toEqual({ session: kept.session, about: { of: 'kept' } })
      clock.advance(30 * DAY_MS + 1_000)
      await gone.sessions.create({ ...key, agent: 'helper', metadata: {} })
      for (const name of own) expect(await names.find(key.tenant, name)).toBeUndefined()
    })

    test('an unknown session gets no name', async () => {
      const { names, key } = await openFixture(stores)
      await expectCode(names.give({ ...key, session: fresh('nobody') }, fresh('name'), {}), 'session_not_found')
    })
  })
}
