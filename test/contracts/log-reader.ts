import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import {
  resolutionOf,
  callOf,
  endAfter,
  headOf,
  header,
  newRun,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
} from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { allMessages, allRuns } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'
import { isWhole } from '../whole.ts'

const idsOf = (entries: readonly { readonly id: string }[]): string[] => entries.map((entry) => entry.id)

/** Contract for reading a log: consistent, complete, in order, and with an error if it is unreadable. */
export function logReaderContract(engine: Engine): void {
  describe(`log reader on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    /** Stores a run in progress of `rounds` rounds, each with `calls` running calls. */
    async function longLog(fixture: SessionFixture, rounds: number, calls: number) {
      const { lease, run, message } = await startRun(fixture)
      const written: Message[] = message === undefined ? [] : [message]
      let head = lease.head
      for (let number = 0; number < rounds; number++) {
        const names = Array.from({ length: calls }, (_, n) => ({ name: `tool-${n}` }))
        const round = roundAfter(fixture, lease, head, names, number)
        await fixture.log.appendRound(lease, round)
        written.push(round.assistant, ...round.tools)
        head = headOf(round)
      }
      return { lease, run, written, head, rounds }
    }

    test('a session without messages reads as an empty page, and so does a deleted session', async () => {
      const fixture = await openFixture(stores)
      const empty = { messages: [], more: false }
      expect(await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 10 })).toEqual(empty)
      await startRun(fixture)
      await fixture.deletion.tombstone(fixture.key)
      expect(await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 10 })).toEqual(empty)
      expect(await fixture.reader.runs(fixture.key, { limit: 10 })).toEqual({ runs: [], more: false })
      expect(await fixture.reader.queued(fixture.key)).toEqual([])
    })

    test('over 1,000 entries are read completely, forward and backward, in any page size', async () => {
      const fixture = await openFixture(stores)
      const { written } = await longLog(fixture, 20, 55)
      expect(written).toHaveLength(1121)
      expect(await allMessages(fixture.peer.reader, fixture.key, 1000)).toEqual(written)
      expect(idsOf(await allMessages(fixture.reader, fixture.key, 37))).toEqual(idsOf(written))
      const backward: Message[] = []
      for (let more = true; more;) {
        const before = backward.at(-1)?.id
        const query = { order: 'descending', limit: 101, ...definedFields({ before }) } as const
        const page = await fixture.reader.messages(fixture.key, query)
        expect(page.messages).toHaveLength(page.more ? 101 : 1121 % 101)
        backward.push(...page.messages)
        more = page.more
      }
      expect(idsOf(backward.toReversed())).toEqual(idsOf(written))
    })

    test('a page ends at its limit of characters, but has at least one message', async () => {
      const fixture = await openFixture(stores)
      const { lease, message } = await startRun(fixture)
      const text = 'x'.repeat(10_000)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b' }, { name: 'c' }])
      const parts = [{ type: 'text' as const, text }, ...round.assistant.parts]
      await fixture.log.appendRound(lease, { ...round, assistant: { ...round.assistant, parts } })
      const ids = [message?.id, round.assistant.id, ...round.tools.map(({ id }) => id)]
      const pages: (readonly string[])[] = []
      for (let after: string | undefined, more = true; more; after = pages.at(-1)?.at(-1)) {
        const from = after === undefined ? {} : { after }
        const query = { order: 'ascending', limit: 2, mostCharacters: 9_000, ...from } as const
        const page = await fixture.peer.reader.messages(fixture.key, query)
        pages.push(idsOf(page.messages))
        more = page.more
      }
      expect(pages).toEqual([[ids[0]], [ids[1]], [ids[2], ids[3]], [ids[4]]])
    })

    test('the last page reports that no messages follow, even if the page is exactly full', async () => {
      const fixture = await openFixture(stores)
      await longLog(fixture, 3, 2)
      const page = await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 10 })
      expect(page).toMatchObject({ more: false })
      expect(page.messages).toHaveLength(10)
      expect((await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 9 })).more).toBe(true)
    })

    test('a forward reader misses no message and reads none twice while another process appends', async () => {
      const fixture = await openFixture(stores)
      const { lease, head, rounds } = await longLog(fixture, 4, 20)
      let last = head
      let number = rounds
      const until = engine.isSlow && !isWhole ? 30 : 60
      const seen: Message[] = []
      let quiet = 0
      while (quiet < 2) {
        const after = seen.at(-1)?.id
        const query = { order: 'ascending', limit: 13, ...definedFields({ after }) } as const
        const reading = fixture.peer.reader.messages(fixture.key, query)
        if (number < until) {
          // Even if the clock is set back between writes, no entry may precede the reader's position.
          fixture.clock.advance(number % 3 === 0 ? -7000 : 2000)
          const round = roundAfter(
            fixture,
            lease,
            last,
            Array.from({ length: 16 }, () => ({ name: 'tool' })),
            number++,
          )
          await fixture.log.appendRound(lease, round)
          last = headOf(round)
        }
        const page = await reading
        seen.push(...page.messages)
        quiet = page.messages.length === 0 && number >= until ? quiet + 1 : 0
      }
      const all = await allMessages(fixture.reader, fixture.key)
      expect(all.length).toBeGreaterThan(16 * until)
      expect(idsOf(seen)).toEqual(idsOf(all))
      expect(idsOf(all).toSorted()).toEqual(idsOf(all))
    })

    test('filters by role, run, agent and range of ids, and fills a page with matching messages', async () => {
      const fixture = await openFixture(stores)
      const first = await longLog(fixture, 2, 2)
      await fixture.log.endRun(first.lease, endAfter(fixture, first.lease, first.head))
      const second = await startRun(fixture, { agent: 'other' })
      const all = await allMessages(fixture.reader, fixture.key)
      const find = async (query: object): Promise<string[]> =>
        idsOf((await fixture.reader.messages(fixture.key, { order: 'ascending', limit: 100, ...query })).messages)
      const where = (keep: (message: Message) => boolean): string[] => idsOf(all.filter(keep))
      expect(await find({ roles: ['tool'] })).toEqual(where((message) => message.role === 'tool'))
      expect(await find({ roles: ['user', 'assistant'] })).toEqual(where((message) => message.role !== 'tool'))
      expect(await find({ run: first.run.id })).toEqual(where((message) => message.runId === first.run.id))
      expect(await find({ run: second.run.id, roles: ['user'] })).toEqual([second.message?.id])
      expect(await find({ agent: 'other' })).toEqual(where((message) => message.agent === 'other'))
      expect(await find({ run: '01ARZ3NDEKTSV4RRFFQ69G5FAV' })).toEqual([])
      const [from, to] = [all[2]?.id ?? '', all[7]?.id ?? '']
      expect(await find({ after: from, before: to })).toEqual(idsOf(all.slice(3, 7)))
      expect(await find({ after: from, before: to, order: 'descending' })).toEqual(idsOf(all.slice(3, 7).toReversed()))
      const page = await fixture.reader.messages(fixture.key, { order: 'descending', limit: 3, roles: ['tool'] })
      expect(idsOf(page.messages)).toEqual(
        where((message) => message.role === 'tool')
          .toReversed()
          .slice(0, 3),
      )
      expect(page.more).toBe(true)
    })

    test('a message is found by its id only in its own session', async () => {
      const [one, two] = [await openFixture(stores), await openFixture(stores)]
      const { message } = await startRun(one)
      expect(await one.peer.reader.message(one.key, message?.id ?? '')).toEqual(message)
      expect(await two.reader.message(two.key, message?.id ?? '')).toBeUndefined()
      expect(await two.reader.message({ ...one.key, tenant: two.key.tenant }, message?.id ?? '')).toBeUndefined()
      for (const odd of ['', ' ', '#SESSION', '%', '0', 'Z'.repeat(500), "' OR 1=1 --"])
        expect(await one.reader.message(one.key, odd)).toBeUndefined()
    })

    test('a run is found by its id only in its own session', async () => {
      const [one, two] = [await openFixture(stores), await openFixture(stores)]
      const { run } = await startRun(one)
      expect(await one.peer.reader.run(one.key, run.id)).toEqual(run)
      expect(await two.reader.run(two.key, run.id)).toBeUndefined()
      expect(await one.reader.run(one.key, "' OR 1=1 --")).toBeUndefined()
    })

    test('every reader sees every acknowledged write at once', async () => {
      const fixture = await openFixture(stores)
      const { lease, run, message } = await startRun(fixture)
      expect(await fixture.peer.reader.message(fixture.key, message?.id ?? '')).toBeDefined()
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'ask', needs: 'result' }])
      await fixture.log.appendRound(lease, round)
      expect(await fixture.peer.reader.message(fixture.key, callOf(round, 0).id)).toMatchObject({ status: 'running' })
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      expect(await fixture.peer.reader.message(fixture.key, callOf(round, 0).id)).toMatchObject({ status: 'completed' })
      await fixture.log.pause(lease)
      expect(await fixture.peer.reader.run(fixture.key, run.id)).toMatchObject({ status: 'paused' })
      await fixture.peer.inbox.resolve(fixture.key, run.id, [resolutionOf('call-0-1')])
      expect(await fixture.reader.message(fixture.key, callOf(round, 1).id)).toMatchObject({ status: 'completed' })
    })

    test('runs are listed newest first, page by page, and by status', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
      const ids = [run.id]
      for (let n = 0; n < 11; n++) ids.push((await fixture.inbox.enqueue(fixture.key, newRun())).runId)
      expect(idsOf(await allRuns(fixture.peer.reader, fixture.key, 5))).toEqual(ids)
      const page = await fixture.reader.runs(fixture.key, { limit: 12 })
      expect(idsOf(page.runs)).toEqual(ids.toReversed())
      expect(page.more).toBe(false)
      expect(idsOf((await fixture.reader.runs(fixture.key, { limit: 10, status: 'failed' })).runs)).toEqual([run.id])
      const queued = await fixture.reader.runs(fixture.key, { limit: 10, status: 'queued', before: ids[4] ?? '' })
      expect(idsOf(queued.runs)).toEqual([ids[3], ids[2], ids[1]])
      expect(idsOf(await fixture.reader.queued(fixture.key))).toEqual(ids.slice(1))
    })

    test('a page of runs also ends at its limit of characters, but has at least one run', async () => {
      const fixture = await openFixture(stores)
      const { run } = await startRun(fixture)
      const ids = [run.id]
      const input = { parts: [{ type: 'text', text: 'x'.repeat(1_000) }] } as const
      for (let n = 0; n < 4; n++) ids.push((await fixture.inbox.enqueue(fixture.key, { ...newRun(), input })).runId)
      const read = async (mostCharacters: number, before: string | undefined) => {
        const query = { limit: 10, mostCharacters, ...definedFields({ before }) }
        const { runs, more } = await fixture.peer.reader.runs(fixture.key, query)
        return { ids: idsOf(runs), more }
      }
      expect(await read(2_500, undefined)).toEqual({ ids: [ids[4], ids[3]], more: true })
      expect(await read(10, ids[3])).toEqual({ ids: [ids[2]], more: true })
      expect(await read(2_500, ids[2])).toEqual({ ids: [ids[1], ids[0]], more: false })
    })

    test('queued steering runs are found in order until they are started, cancelled, merged or deleted', async () => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture, { onBusy: 'steer' })
      const steering = (limit = 10) => fixture.peer.reader.steering(fixture.key, limit)
      expect(await steering()).toEqual([])
      const ids: string[] = []
      for (const onBusy of ['steer', 'queue', 'steer', 'steer', 'steer'] as const)
        ids.push((await fixture.inbox.enqueue(fixture.key, newRun({ onBusy }))).runId)
      const [first = '', , third = '', fourth = '', fifth = ''] = ids
      expect(await steering()).toEqual([first, third, fourth, fifth])
      expect(await steering(2)).toEqual([first, third])
      await fixture.inbox.cancel(fixture.key, third)
      const [messageId = ''] = nextIds(lease.head, fixture.clock.now(), 1)
      expect(await fixture.log.steer(lease, fourth, messageId)).toBeDefined()
      expect(await steering()).toEqual([first, fifth])
      await fixture.log.endRun(lease, endAfter(fixture, lease, messageId))
      const started = await fixture.peer.lease.start(await header(fixture), 'another')
      expect(started?.run.id).toBe(first)
      expect(await steering()).toEqual([fifth])
      expect((await fixture.reader.run(fixture.key, run.id))?.status).toBe('completed')
      await fixture.deletion.tombstone(fixture.key)
      expect(await steering()).toEqual([])
    })

    test('the calls of a paused run are read with their stored status', async () => {
      const fixture = await openFixture(stores)
      const { round } = await pausedRun(fixture, [{ name: 'ask', needs: 'result' }])
      expect((await allMessages(fixture.peer.reader, fixture.key)).slice(1)).toEqual([round.assistant, ...round.tools])
    })
  })

  describe(`log reader on ${engine.name} that fails`, () => {
    test('a failing store rejects, and never returns an empty log', async () => {
      const stores = await engine.open()
      const fixture = await openFixture(stores)
      const { run, message } = await startRun(fixture)
      await stores.breakDown()
      await expect(fixture.reader.messages(fixture.key, { order: 'ascending', limit: 10 })).rejects.toThrow()
      await expect(fixture.reader.message(fixture.key, message?.id ?? '')).rejects.toThrow()
      await expect(fixture.reader.run(fixture.key, run.id)).rejects.toThrow()
      await expect(fixture.reader.runs(fixture.key, { limit: 10 })).rejects.toThrow()
      await expect(fixture.reader.queued(fixture.key)).rejects.toThrow()
      await expect(fixture.reader.steering(fixture.key, 1)).rejects.toThrow()
      await expect(fixture.lease.readHeader(fixture.key)).rejects.toThrow()
      await stores.close()
    })
  })
}
