import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resolutionOf, expectCode, openFixture, pausedRun } from './session-fixture.ts'
import type { Resolution } from '../../functions/domain/runs/call-resolution.ts'
import type { NewestRequest } from '../../functions/domain/runs/run-changes.ts'
import type { Resolved } from '../../functions/ports/run-inbox.ts'
import type { Call, SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

const ASK: Call = { name: 'ask', needs: 'result' }

const tool = (name: string) => ({ name, description: name, parameters: { type: 'object' } })
/** Fields of requests that are sent with results. */
const FIRST = { clientTools: [tool('one')], instructions: 'first' } as const
const SECOND = { clientTools: [tool('two'), tool('three')], instructions: 'second' } as const

/** Returns a function that resolves calls of the run. Its `request` replaces the run's tools and instructions. */
const resolving =
  ({ inbox, key }: Pick<SessionFixture, 'inbox' | 'key'>, run: string) =>
  (resolutions: readonly Resolution[], request?: NewestRequest): Promise<Resolved> =>
    inbox.resolve(key, run, resolutions, request)

/** Contract for requests with results: their tools and instructions replace those of the run. */
export function runInboxNewestRequestContract(engine: Engine): void {
  describe(`run inbox on ${engine.name}: the newest request`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a request with results replaces the tools and instructions of its run; a repeat replaces nothing', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      const resolve = resolving(fixture, started.run.id)
      expect(await resolve([resolutionOf('call-0-0')], FIRST)).toEqual({ stored: 1, complete: false })
      const before = await fixture.reader.run(fixture.key, started.run.id)
      expect(before).toMatchObject({ ...FIRST, agent: 'helper', status: 'paused' })
      await resolve([resolutionOf('call-0-1')], SECOND)
      const after = await snapshot(fixture, fixture.key)
      expect(after.runs).toEqual([{ ...before, ...SECOND }])
      expect(await resolve([resolutionOf('call-0-0')], FIRST)).toMatchObject({ stored: 0 })
      await expectCode(resolve([resolutionOf('call-0-0', 'other')], FIRST), 'resolution_conflict')
      expect(await snapshot(fixture, fixture.key)).toEqual(after)
    })

    test('fields that a request omits stay unchanged in the run; an empty list or null removes a field', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK, ASK, ASK])
      const resolve = resolving(fixture, started.run.id)
      const read = async () => {
        const run = await fixture.peer.reader.run(fixture.key, started.run.id)
        return [run?.clientTools, run?.instructions]
      }
      await resolve([resolutionOf('call-0-0')], FIRST)
      await resolve([resolutionOf('call-0-1')])
      expect(await read()).toEqual([FIRST.clientTools, 'first'])
      await resolve([resolutionOf('call-0-2')], { instructions: null })
      expect(await read()).toEqual([FIRST.clientTools, undefined])
      await resolve([resolutionOf('call-0-3')], { clientTools: [] })
      expect(await read()).toEqual([[], undefined])
    })

    test('a request’s settings replace the run’s settings, and a tool choice applies to the next round', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK, ASK])
      const resolve = resolving(fixture, started.run.id)
      const settings = async () => (await fixture.peer.reader.run(fixture.key, started.run.id))?.settings
      const format = { type: 'json_object' } as const
      await resolve([resolutionOf('call-0-0')], { settings: { format, toolChoice: 'required' } })
      expect(await settings()).toEqual({ format, toolChoice: 'required', choiceRound: 1 })
      await resolve([resolutionOf('call-0-1')], { clientTools: [] })
      expect(await settings()).toEqual({ format, toolChoice: 'required', choiceRound: 1 })
      await resolve([resolutionOf('call-0-2')], { settings: null })
      expect(await settings()).toBeUndefined()
    })

    test('if concurrent requests replace the tools and the instructions, both changes are kept', async () => {
      const fixture = await openFixture(stores)
      const { key } = fixture
      const { started } = await pausedRun(fixture, [ASK, ASK, ASK])
      await Promise.all([
        resolving(fixture, started.run.id)([resolutionOf('call-0-0')], { clientTools: SECOND.clientTools }),
        resolving({ ...fixture.peer, key }, started.run.id)([resolutionOf('call-0-1')], { instructions: 'first' }),
      ])
      const expected = { ...SECOND, instructions: 'first' }
      expect(await fixture.reader.run(key, started.run.id)).toMatchObject(expected)
    })

    test('stored tools that are too large for a row can be replaced by small ones', async () => {
      const fixture = await openFixture(stores)
      const { started } = await pausedRun(fixture, [ASK, ASK])
      const resolve = resolving(fixture, started.run.id)
      const clientTools = [{ ...tool('large'), description: 'x'.repeat(200_000) }]
      await resolve([resolutionOf('call-0-0')], { clientTools })
      expect(await fixture.reader.run(fixture.key, started.run.id)).toMatchObject({ clientTools })
      await resolve([resolutionOf('call-0-1')], FIRST)
      expect(await fixture.reader.run(fixture.key, started.run.id)).toMatchObject(FIRST)
    })
  })
}
