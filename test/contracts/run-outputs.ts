import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { endAfter, openFixture, startRun } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for the settings and the output of a run. */
export function runOutputsContract(engine: Engine): void {
  describe(`run log on ${engine.name}: settings and outputs`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('an end stores the output and the last warnings of a run, and a repeated end keeps them', async () => {
      const fixture = await openFixture(stores)
      const format = { type: 'json_schema', name: 'n', schema: { type: 'object' } } as const
      const { lease, run } = await startRun(fixture, { settings: { format, stop: ['END'] } })
      expect(run.settings).toEqual({ format, stop: ['END'] })
      const first = { type: 'warning', code: 'mcp_unavailable', detail: 'one', after: lease.head ?? '' } as const
      await fixture.log.recordDecision(lease, { number: 0, notices: [first] })
      const last = { ...first, code: 'output_not_of_schema', detail: 'two' } as const
      const end = { ...endAfter(fixture, lease, lease.head), output: '{"n": 1.0}', notices: [last] }
      for (const attempt of [1, 2]) {
        const ended = await fixture.log.endRun(lease, end)
        expect([attempt, ended?.run.output, ended?.run.notices]).toEqual([attempt, '{"n": 1.0}', [first, last]])
      }
      const stored = { output: '{"n": 1.0}', notices: [first, last], settings: { format, stop: ['END'] } }
      expect(await fixture.peer.reader.run(fixture.key, run.id)).toMatchObject(stored)
    })

    test('an output that is too large for a row is kept', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const output = JSON.stringify('x'.repeat(500_000))
      await fixture.log.endRun(lease, { ...endAfter(fixture, lease, lease.head), output })
      expect(await fixture.peer.reader.run(fixture.key, run.id)).toMatchObject({ output })
    })

    test('the usage of a completion that is not stored counts for its agent', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const usage = { ...NO_USAGE, totalTokens: 5 }
      const work = { agent: 'helper', usage, model: 'a/b', createdAt: fixture.clock.now() }
      await fixture.log.recordDecision(lease, { number: 0, notices: [], work })
      const counted = await fixture.peer.reader.run(fixture.key, run.id)
      expect(counted).toMatchObject({ rounds: 0, usageByAgent: { helper: { totalTokens: 5 } } })
    })
  })
}
