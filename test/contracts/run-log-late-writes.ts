import { describe, expect, test } from 'vitest'
import { endAfter, header, headOf, openFixture, roundAfter, startRun } from './session-fixture.ts'
import type { Engine } from './stores.ts'

/** Contract for writes that land after their timeout, during the next write of the same holder. */
export function runLogLateWritesContract(engine: Engine): void {
  describe(`run log on ${engine.name}: late writes`, () => {
    test('a round that lands late, while its holder ends the run, leaves no call open', async () => {
      let late: (() => Promise<unknown>) | undefined
      const raced = await engine.open({
        between: async (request, kind) => {
          const before = kind === 'write' ? late : undefined
          if (before !== undefined) late = undefined
          await before?.()
          return request()
        },
      })
      const fixture = await openFixture(raced)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'slow' }, { name: 'slower' }])
      late = () => fixture.peer.log.appendRound(lease, round)
      await fixture.log.endRun(lease, endAfter(fixture, lease, headOf(round)))
      const { messages } = await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 100 })
      const calls = messages.filter((message) => message.role === 'tool')
      expect(calls.filter(({ status }) => status !== 'interrupted')).toEqual([])
      expect(await header(fixture)).not.toHaveProperty('activeRun')
      await raced.close()
    })
  })
}
