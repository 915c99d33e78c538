import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NumberedSources } from '../../functions/domain/messages/source.ts'
import { endAfter, expectCode, headOf, openFixture, roundAfter, startRun, takeOver } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const SOURCES = [{ title: 'One', url: 'https://one.example', text: 'é \u0000 "one"', id: 'a' }, { title: 'Two' }]

const pageOf = async (
  { peer, key }: SessionFixture,
  query: { readonly order?: 'ascending' | 'descending'; readonly after?: number; readonly limit?: number } = {},
) => peer.reader.sources(key, { order: 'ascending', limit: 100, ...query })

/** Contract for the sources of results, and the numbers that completions assign. */
export function sourceNumbersContract(engine: Engine): void {
  describe(`sources on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('are read unchanged with their result; for a large text, they keep the name of its object', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'look' }])
      await fixture.log.appendRound(lease, round)
      const output = { bytes: 3, lines: 1, sha256: 'x', mediaType: 'text/plain', object: 'y' }
      const sources = [...SOURCES, { title: 'Three', text: 'pre…', output }]
      const messageId = headOf(round)
      const result = { messageId, status: 'completed', parts: [], sources, completedAt: 9, durationMs: 1 } as const
      expect(await fixture.log.completeCall(lease, result)).toMatchObject({ sources })
      expect(await fixture.log.completeCall(lease, result)).toMatchObject({ sources })
      expect(await fixture.peer.reader.message(fixture.key, messageId)).toMatchObject({ sources })
    })

    test('are stored with the resolution of their waiting call', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'ask', needs: 'result' }])
      await fixture.log.appendRound(lease, round)
      await fixture.log.pause(lease)
      const [call] = round.tools
      const named = { toolCallId: call?.toolCallId ?? '', messageId: headOf(round), hash: 'h' }
      const given = { ...named, kind: 'result', status: 'completed', parts: [], sources: SOURCES } as const
      await fixture.inbox.resolve(fixture.key, lease.runId, [given])
      expect(await fixture.peer.reader.message(fixture.key, headOf(round))).toMatchObject({ sources: SOURCES })
    })

    test('are listed by the numbers that their completions record, in ascending and descending order', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      expect(await pageOf(fixture)).toEqual({ numbered: [], more: false })
      const first = numbered(['A', 1, 2], ['B', 3, 100])
      const last = numbered(['C', 103, 1])
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'look' }])
      const recording = { ...round, assistant: { ...round.assistant, numbered: first } }
      await fixture.log.appendRound(lease, recording)
      await fixture.log.appendRound(lease, recording)
      expect(await fixture.peer.reader.message(fixture.key, round.assistant.id)).toMatchObject({ numbered: first })
      const end = endAfter(fixture, lease, headOf(round))
      await fixture.log.endRun(lease, { ...end, ...(end.message && { message: { ...end.message, numbered: last } }) })
      expect(await pageOf(fixture)).toEqual({ numbered: [...first, ...last], more: false })
      expect(await pageOf(fixture, { limit: 1 })).toEqual({ numbered: first.slice(0, 1), more: true })
      expect(await pageOf(fixture, { limit: 1, order: 'descending' })).toEqual({ numbered: last, more: true })
      expect(await pageOf(fixture, { after: 2 })).toEqual({ numbered: [...first.slice(1), ...last], more: false })
      expect(await pageOf(fixture, { after: 101 })).toEqual({ numbered: [...first.slice(1), ...last], more: false })
      expect(await pageOf(fixture, { after: 102 })).toEqual({ numbered: last, more: false })
      expect(await pageOf(fixture, { after: 103 })).toEqual({ numbered: [], more: false })
    })

    test('get no numbers from a completion whose holder has lost the lease', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      await takeOver(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'look' }])
      const late = { ...round, assistant: { ...round.assistant, numbered: numbered(['A', 1, 2]) } }
      await expectCode(fixture.log.appendRound(lease, late), 'lease_lost')
      expect(await pageOf(fixture)).toEqual({ numbered: [], more: false })
    })

    test("are marked as cited or dropped only in the write of the run's end", async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const citations = { cited: [[1, 2]], uncited: [[3, 3]], left: [[3, 3]] } as const
      const end = { ...endAfter(fixture, lease, lease.head), context: { citations } }
      const next = await takeOver(fixture)
      await expectCode(fixture.log.endRun(lease, end), 'lease_lost')
      expect(await fixture.peer.reader.context(fixture.key)).toEqual({})
      await fixture.log.endRun(next.lease, end)
      await fixture.log.endRun(next.lease, end)
      expect(await fixture.peer.reader.context(fixture.key)).toEqual({ citations })
    })

    test('are deleted with their session', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const end = endAfter(fixture, lease, lease.head)
      const message = end.message && { ...end.message, numbered: numbered(['A', 1, 2]) }
      await fixture.log.endRun(lease, { ...end, ...(message && { message }) })
      await fixture.deletion.tombstone(fixture.key)
      expect(await pageOf(fixture)).toEqual({ numbered: [], more: false })
      while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
      expect(await pageOf(fixture)).toEqual({ numbered: [], more: false })
    })
  })
}

const numbered = (...all: readonly (readonly [message: string, from: number, count: number])[]): NumberedSources[] =>
  all.map(([message, from, count]) => ({ message, from, count }))
