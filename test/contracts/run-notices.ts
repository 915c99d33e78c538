import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  callOf,
  header,
  headOf,
  openFixture,
  pausedRun,
  resolutionOf,
  roundAfter,
  takeOver,
} from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for notices to followers: each is stored by the write that it reports. */
export function runNoticesContract(engine: Engine): void {
  describe(`run log on ${engine.name}: notices`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('pauses and resumptions are stored with the state of the run at that time', async () => {
      const fixture = await openFixture(stores)
      const calls = [{ name: 'ask', id: 'one', needs: 'result' }, { name: 'pay' }] as const
      const { started, round } = await pausedRun(fixture, calls)
      const after = headOf(round)
      const counts = { rounds: 1, usage: { totalTokens: 10 } }
      const paused = { type: 'run.paused', after, asked: round.assistant.id, calls: [callOf(round, 0).id], counts }
      const read = () => fixture.peer.reader.run(fixture.key, started.run.id)
      expect(await read()).toMatchObject({ status: 'paused', notices: [paused] })
      await fixture.inbox.resolve(fixture.key, started.run.id, [resolutionOf('one')])
      const taken = await fixture.lease.take(await header(fixture), 'next')
      const resumed = { type: 'run.resumed', after, counts }
      expect(await read()).toMatchObject({ status: 'running', notices: [paused, resumed] })
      // Without a message between the two takeovers, there is nothing new to report.
      if (taken !== undefined) await fixture.lease.release((await fixture.lease.claim(taken)).lease)
      const again = await fixture.lease.take(await header(fixture), 'after')
      expect((await read())?.notices).toHaveLength(2)
      const decision = {
        number: 0,
        notices: [{ type: 'context.nearly_full', messages: 9, threshold: 10, after }],
      } as const
      if (again === undefined) throw new Error('the run could not be taken')
      await fixture.log.recordDecision(again, decision)
      expect((await read())?.notices?.map(({ type }) => type)).toEqual([
        'run.paused',
        'run.resumed',
        'context.nearly_full',
      ])
      await fixture.log.appendRound(again, roundAfter(fixture, again, after, [{ name: 'pay' }], 1))
      await takeOver(fixture)
      expect((await read())?.notices?.at(-1)).toMatchObject({ type: 'run.resumed', counts: { rounds: 2 } })
    })
  })
}
