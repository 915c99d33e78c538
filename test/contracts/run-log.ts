import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  approvalOf,
  callOf,
  expectCode,
  header,
  headOf,
  HOSTILE_TEXTS,
  openScene,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './scene.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'

/** What a holder stores: rounds before their calls, results as they come, one end. */
export function runLogContract(engine: Engine): void {
  describe(`run log on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    describe('appendRound', () => {
      test('stores the answer and its open calls in order, with counters, head, floor and usage', async () => {
        const scene = await openScene(stores)
        const { lease, run } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'b', needs: 'result' }])
        await scene.log.appendRound(lease, round)
        const stored = await snapshot(scene.peer, scene.key)
        expect(stored.messages.slice(1)).toEqual([round.assistant, ...round.tools])
        expect(stored.header).toMatchObject({ head: headOf(round), floor: round.assistant.id, waiting: 1 })
        expect(stored.runs[0]).toMatchObject({ id: run.id, rounds: 1, usage: { totalTokens: 10 } })
        expect(stored.runs[0]?.usageByAgent).toMatchObject({ helper: { inputTokens: 7 } })
        expect(stored.session?.totals).toMatchObject({ rounds: 1, usage: { totalTokens: 10 } })
      })

      test('twice with the same ids changes nothing the second time, also after its calls have ended', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'b', needs: 'result' }])
        await scene.log.appendRound(lease, round)
        const once = await snapshot(scene, scene.key)
        await scene.log.appendRound(lease, round)
        expect(await snapshot(scene, scene.key)).toEqual(once)
        await scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id))
        const later = await snapshot(scene, scene.key)
        await scene.log.appendRound(lease, round)
        expect(await snapshot(scene, scene.key)).toEqual(later)
      })

      test('keeps what the model sent: odd ids, repeated names, malformed and huge arguments, provider data', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const texts = HOSTILE_TEXTS.filter(([name]) => name !== '400 kB').map(([, text]) => text)
        const plain = roundAfter(
          scene,
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
        await scene.log.appendRound(lease, round)
        expect((await snapshot(scene, scene.key)).messages.slice(1)).toEqual([round.assistant, ...round.tools])
      })

      test.each(HOSTILE_TEXTS)('keeps every character of an answer: %s', async (_name, text) => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const plain = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
        const assistant = { ...plain.assistant, parts: [{ type: 'text', text } as const, ...plain.assistant.parts] }
        await scene.log.appendRound(lease, { ...plain, assistant })
        expect(await scene.reader.message(scene.key, assistant.id)).toEqual(assistant)
      })

      test('stores 64 calls in one write', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(
          scene,
          lease,
          lease.head,
          Array.from({ length: 64 }, (_, n) => ({ name: `t${n}` })),
        )
        await scene.log.appendRound(lease, round)
        expect((await snapshot(scene, scene.key)).messages.slice(1)).toEqual([round.assistant, ...round.tools])
        const claimed = await takeOver(scene)
        expect(claimed.open.map((row) => row.id)).toEqual(round.tools.map((row) => row.id))
        const repaired = await scene.log.repair(
          claimed.lease,
          claimed.open.map((row) => row.id),
        )
        expect(repaired.every((row) => row.status === 'interrupted')).toBe(true)
      })

      test('of two rounds by two holders at once, exactly one is stored', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const second = await takeOver(scene)
        const late = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
        const good = roundAfter(scene, second.lease, second.lease.head, [{ name: 'b' }])
        const results = await Promise.allSettled([
          scene.log.appendRound(lease, late),
          scene.peer.log.appendRound(second.lease, good),
        ])
        expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled'])
        expect((await snapshot(scene, scene.key)).messages.slice(1)).toEqual([good.assistant, ...good.tools])
      })
    })

    describe('completeCall', () => {
      test.each(['completed', 'error', 'cancelled'] as const)('ends a call as %s, once', async (status) => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
        await scene.log.appendRound(lease, round)
        const output = { bytes: 5, lines: 1, sha256: 'f'.repeat(64), mediaType: 'text/plain', object: 'x' }
        const result = { ...resultOf(scene, callOf(round, 1).id), status, output }
        const { messageId, ...rest } = result
        const stored = await scene.log.completeCall(lease, result)
        expect(stored).toEqual({ ...callOf(round, 1), ...rest, generation: stored.generation })
        expect(await scene.peer.reader.message(scene.key, messageId)).toEqual(stored)
        const before = await snapshot(scene, scene.key)
        expect(await scene.log.completeCall(lease, result)).toEqual(stored)
        expect(await snapshot(scene, scene.key)).toEqual(before)
        expect(before.messages.at(-2)).toEqual(callOf(round, 0))
      })

      test.each(HOSTILE_TEXTS)('keeps every character of a result: %s', async (_name, text) => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
        await scene.log.appendRound(lease, round)
        const stored = await scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id, text))
        expect(stored.parts).toEqual([{ type: 'text', text }])
        expect(await scene.reader.message(scene.key, stored.id)).toEqual(stored)
      })

      test('parallel calls end in any order, each by its own write', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(
          scene,
          lease,
          lease.head,
          Array.from({ length: 8 }, (_, n) => ({ name: `t${n}` })),
        )
        await scene.log.appendRound(lease, round)
        await Promise.all(
          round.tools
            .toReversed()
            .map((tool) => scene.log.completeCall(lease, resultOf(scene, tool.id, tool.toolName))),
        )
        const { messages } = await snapshot(scene, scene.key)
        expect(messages.slice(2).map((row) => row.parts)).toMatchObject(
          round.tools.map((tool) => [{ text: tool.toolName }]),
        )
      })

      test('a result that lands before the claim of the next holder is kept and seen by it; one after it is lost', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
        await scene.log.appendRound(lease, round)
        scene.clock.advance(60_001)
        const taken = await scene.peer.lease.take(await header(scene), 'next')
        await scene.log.completeCall(lease, resultOf(scene, callOf(round, 0).id))
        if (taken === undefined) throw new Error('the run could not be taken')
        const claimed = await scene.peer.lease.claim(taken)
        expect(claimed.open.map((row) => row.id)).toEqual([callOf(round, 1).id])
        await expectCode(scene.log.completeCall(lease, resultOf(scene, callOf(round, 1).id)), 'lease_lost')
        expect((await scene.reader.message(scene.key, callOf(round, 0).id)) ?? {}).toMatchObject({
          status: 'completed',
        })
        const [repaired] = await scene.peer.log.repair(claimed.lease, [callOf(round, 1).id])
        expect(repaired).toMatchObject({ status: 'interrupted', generation: claimed.lease.generation })
      })

      test('the new holder may end a call that it has claimed (idempotent tools run again)', async () => {
        const scene = await openScene(stores)
        const { lease } = await startRun(scene)
        const round = roundAfter(scene, lease, lease.head, [{ name: 'a' }])
        await scene.log.appendRound(lease, round)
        const claimed = await takeOver(scene)
        const stored = await scene.log.completeCall(claimed.lease, resultOf(scene, callOf(round, 0).id))
        expect(stored.status).toBe('completed')
      })

      test("a waiting or approved call is not the holder's to end", async () => {
        const scene = await openScene(stores)
        const { lease, run } = await startRun(scene)
        const calls = [
          { name: 'ask', needs: 'result' },
          { name: 'send', needs: 'approval' },
        ] as const
        const round = roundAfter(scene, lease, lease.head, calls)
        await scene.log.appendRound(lease, round)
        await scene.inbox.resolve(scene.key, run.id, [approvalOf('call-0-1', true)])
        const before = await snapshot(scene, scene.key)
        for (const tool of round.tools)
          await expect(scene.log.completeCall(lease, resultOf(scene, tool.id))).rejects.toThrow()
        expect(await snapshot(scene, scene.key)).toEqual(before)
      })
    })
  })
}
