import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAround } from '../../functions/agent/events/log-window.ts'
import { headOf, openFixture, roundAfter, startRun } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for windows around a message. */
export function logWindowContract(engine: Engine): void {
  describe(`log window on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    /** Creates a session of 21 messages: an input, and four rounds of four calls. */
    async function filled() {
      const fixture = await openFixture(stores)
      const { lease, message } = await startRun(fixture)
      const ids = [message?.id ?? '']
      let { head } = lease
      for (let number = 0; number < 4; number++) {
        const names = ['a', 'b', 'c', 'd'].map((name) => ({ name }))
        const round = roundAfter(fixture, lease, head, names, number)
        await fixture.log.appendRound(lease, round)
        ids.push(round.assistant.id, ...round.tools.map(({ id }) => id))
        head = headOf(round)
      }
      return { reader: fixture.peer.reader, key: fixture.key, ids }
    }

    test('half of a window precedes its message; near an end of the log, the other side is longer', async () => {
      const { reader, key, ids } = await filled()
      for (const [place, limit, first, end] of [
        [10, 6, 7, 13],
        [0, 6, 0, 6],
        [20, 6, 15, 21],
        [2, 9, 0, 9],
        [5, 1, 5, 6],
        [5, 50, 0, 21],
      ] as const) {
        const window = await readAround(reader, key, ids[place] ?? '', { limit, maxCharacters: 1_000_000 })
        const shown = [...(window?.older ?? []).toReversed(), ...(window?.newer ?? [])].map(({ id }) => id)
        expect(shown, `${place} ${limit}`).toEqual(ids.slice(first, end))
        expect(window).toMatchObject({ hasOlder: first > 0, hasNewer: end < 21 })
      }
    })

    test('a window with a small character limit has the message, and reports more messages on both sides', async () => {
      const { reader, key, ids } = await filled()
      const window = await readAround(reader, key, ids[10] ?? '', { limit: 20, maxCharacters: 1 })
      expect(window?.newer.map(({ id }) => id)).toEqual([ids[10]])
      expect(window).toMatchObject({ hasOlder: true, hasNewer: true })
    })

    test('a message of another session has no window', async () => {
      const { reader, ids } = await filled()
      const { key } = await openFixture(stores)
      expect(await readAround(reader, key, ids[10] ?? '', { limit: 6, maxCharacters: 1_000 })).toBeUndefined()
    })
  })
}
