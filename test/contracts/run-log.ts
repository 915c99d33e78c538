import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  approvalOf,
  callOf,
  expectCode,
  header,
  headOf,
  HOSTILE_TEXTS,
  openFixture,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for the writes of a holder: rounds before their calls, results as they arrive, one end. */
export function runLogContract(engine: Engine): void {
  describe(`run log on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('appendRound', () => {
      test('stores the completion and its open calls in order, with counters, head and usage', async () => {
        const fixture = await openFixture(stores)
        const { lease, run } = await startRun(fixture)
        const made = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b', needs: 'result' }])
        const round = { ...made, assistant: { ...made.assistant, attempt: 65 } }
        await fixture.log.appendRound(lease, round)
        const stored = await snapshot(fixture.peer, fixture.key)
        expect(stored.messages.slice(1)).toEqual([round.assistant, ...round.tools])
        expect(stored.header).toMatchObject({ head: headOf(round), waiting: 1 })
        expect(stored.runs[0]).toMatchObject({ id: run.id, rounds: 1, usage: { totalTokens: 10 } })
        expect(stored.runs[0]?.usageByAgent).toMatchObject({ helper: { inputTokens: 7 } })
        expect(stored.session?.totals).toMatchObject({ rounds: 1, usage: { totalTokens: 10 } })
      })

      test('a repeat with equal ids changes nothing, also after its calls have ended', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b', needs: 'result' }])
        await fixture.log.appendRound(lease, round)
        const once = await snapshot(fixture, fixture.key)
        await fixture.log.appendRound(lease, round)
        expect(await snapshot(fixture, fixture.key)).toEqual(once)
        await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
        const later = await snapshot(fixture, fixture.key)
        await fixture.log.appendRound(lease, round)
        expect(await snapshot(fixture, fixture.key)).toEqual(later)
      })

      test("keeps the model's data: odd ids, repeated names, malformed and huge arguments, provider data", async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const texts = HOSTILE_TEXTS.filter(([name]) => name !== '400 kB').map(([, text]) => text)
        const plain = roundAfter(
          fixture,
          lease,
          lease.head,
          texts.map((text, n) => ({ name: `tool${text}`, id: `${n}${text}`, arguments: `{"a": ${text}` })),
        )
        const provider = { openai: { itemId: 'x', deep: [{ signature: 'ß\u0000', big: 1e300 }] } }
        const round = {
          ...plain,
          assistant: {
            ...plain.assistant,
            parts: [
              { type: 'reasoning', text: '', provider },
              ...texts.map((text) => ({ type: 'text', text }) as const),
              ...plain.assistant.parts,
              { type: 'text', text: 'after' },
            ],
            toolCalls: plain.assistant.toolCalls.map((call) => ({ ...call, provider })),
            usage: { ...plain.assistant.usage, provider: { raw: { a: null, b: [1.5] } } },
          },
        } as typeof plain
        await fixture.log.appendRound(lease, round)
        expect((await snapshot(fixture, fixture.key)).messages.slice(1)).toEqual([round.assistant, ...round.tools])
      })

      test.each(HOSTILE_TEXTS)('keeps every character of a completion: %s', async (_name, text) => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const plain = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        const assistant = { ...plain.assistant, parts: [{ type: 'text', text } as const, ...plain.assistant.parts] }
        await fixture.log.appendRound(lease, { ...plain, assistant })
        expect(await fixture.reader.message(fixture.key, assistant.id)).toEqual(assistant)
      })

      test('stores 64 calls in one write', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(
          fixture,
          lease,
          lease.head,
          Array.from({ length: 64 }, (_, n) => ({ name: `t${n}` })),
        )
        await fixture.log.appendRound(lease, round)
        expect((await snapshot(fixture, fixture.key)).messages.slice(1)).toEqual([round.assistant, ...round.tools])
        const claimed = await takeOver(fixture)
        expect(claimed.open.map((row) => row.id)).toEqual(round.tools.map((row) => row.id))
        const repaired = await fixture.log.repair(
          claimed.lease,
          claimed.open.map((row) => row.id),
        )
        expect(repaired.every((row) => row.status === 'interrupted')).toBe(true)
      })

      test('stores the round of the current holder, and rejects the concurrent round of a former holder', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const second = await takeOver(fixture)
        const late = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        const good = roundAfter(fixture, second.lease, second.lease.head, [{ name: 'b' }])
        const results = await Promise.allSettled([
          fixture.log.appendRound(lease, late),
          fixture.peer.log.appendRound(second.lease, good),
        ])
        expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled'])
        expect((await snapshot(fixture, fixture.key)).messages.slice(1)).toEqual([good.assistant, ...good.tools])
      })
    })

    describe('completeCall', () => {
      test.each(['completed', 'error', 'cancelled'] as const)('ends a call as %s, once', async (status) => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
        await fixture.log.appendRound(lease, round)
        const output = { bytes: 5, lines: 1, sha256: 'f'.repeat(64), mediaType: 'text/plain', object: 'x' }
        const result = { ...resultOf(fixture, callOf(round, 1).id), status, output }
        const { messageId, ...rest } = result
        const stored = await fixture.log.completeCall(lease, result)
        expect(stored).toEqual({ ...callOf(round, 1), ...rest, generation: stored.generation })
        expect(await fixture.peer.reader.message(fixture.key, messageId)).toEqual(stored)
        const before = await snapshot(fixture, fixture.key)
        expect(await fixture.log.completeCall(lease, result)).toEqual(stored)
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
        expect(before.messages.at(-2)).toEqual(callOf(round, 0))
      })

      test.each(HOSTILE_TEXTS)('keeps every character of a result: %s', async (_name, text) => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        await fixture.log.appendRound(lease, round)
        const stored = await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id, text))
        expect(stored.parts).toEqual([{ type: 'text', text }])
        expect(await fixture.reader.message(fixture.key, stored.id)).toEqual(stored)
      })

      test('ends parallel calls in any order, each by its own write', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(
          fixture,
          lease,
          lease.head,
          Array.from({ length: 8 }, (_, n) => ({ name: `t${n}` })),
        )
        await fixture.log.appendRound(lease, round)
        await Promise.all(
          round.tools
            .toReversed()
            .map((tool) => fixture.log.completeCall(lease, resultOf(fixture, tool.id, tool.toolName))),
        )
        const { messages } = await snapshot(fixture, fixture.key)
        expect(messages.slice(2).map((row) => row.parts)).toMatchObject(
          round.tools.map((tool) => [{ text: tool.toolName }]),
        )
      })

      test("keeps a result stored before the next holder's claim; a later result is lost", async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
        await fixture.log.appendRound(lease, round)
        fixture.clock.advance(60_001)
        const taken = await fixture.peer.lease.take(await header(fixture), 'next')
        await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
        if (taken === undefined) throw new Error('the run could not be taken')
        const claimed = await fixture.peer.lease.claim(taken)
        expect(claimed.open.map((row) => row.id)).toEqual([callOf(round, 1).id])
        await expectCode(fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 1).id)), 'lease_lost')
        expect((await fixture.reader.message(fixture.key, callOf(round, 0).id)) ?? {}).toMatchObject({
          status: 'completed',
        })
        const [repaired] = await fixture.peer.log.repair(claimed.lease, [callOf(round, 1).id])
        expect(repaired).toMatchObject({ status: 'interrupted', generation: claimed.lease.generation })
      })

      test('lets the next holder end a claimed call, for example after repeating an idempotent tool', async () => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }])
        await fixture.log.appendRound(lease, round)
        const claimed = await takeOver(fixture)
        const stored = await fixture.log.completeCall(claimed.lease, resultOf(fixture, callOf(round, 0).id))
        expect(stored.status).toBe('completed')
      })

      test('refuses to end a waiting or approved call', async () => {
        const fixture = await openFixture(stores)
        const { lease, run } = await startRun(fixture)
        const calls = [
          { name: 'ask', needs: 'result' },
          { name: 'send', needs: 'approval' },
        ] as const
        const round = roundAfter(fixture, lease, lease.head, calls)
        await fixture.log.appendRound(lease, round)
        await fixture.inbox.resolve(fixture.key, run.id, [approvalOf('call-0-1', true)])
        const before = await snapshot(fixture, fixture.key)
        for (const tool of round.tools)
          await expect(fixture.log.completeCall(lease, resultOf(fixture, tool.id))).rejects.toThrow()
        expect(await snapshot(fixture, fixture.key)).toEqual(before)
      })
    })
  })
}
