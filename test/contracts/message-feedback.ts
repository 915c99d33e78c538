import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_RATINGS } from '../../functions/domain/messages/feedback.ts'
import type { Feedback } from '../../functions/domain/messages/feedback.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import { callOf, endAfter, headOf, openFixture, resultOf, roundAfter, startRun, takeOver } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

const good = (user: string, at: number): Feedback => ({ rating: 'positive', user, at })
const bad = (user: string, at: number): Feedback => ({ rating: 'negative', user, at })

/** Opens a session with a stored completion and a running run. */
async function openSaid(stores: Stores) {
  const fixture = await openFixture(stores)
  const { lease } = await startRun(fixture)
  const round = roundAfter(fixture, lease, lease.head, [{ name: 'look' }])
  await fixture.log.appendRound(lease, round)
  return { fixture, lease, round, id: round.assistant.id }
}

const ratings = async ({ peer, key }: SessionFixture, id: string): Promise<readonly Feedback[] | undefined> => {
  const message = await peer.reader.message(key, id)
  return message?.role === 'assistant' ? message.feedback : undefined
}

/** Contract for feedback, which is stored with its completion. */
export function messageFeedbackContract(engine: Engine): void {
  describe(`feedback on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test('a rating is part of its message, and changes no other field', async () => {
      const { fixture, round, id } = await openSaid(stores)
      expect(await fixture.feedback.give(fixture.key, id, good('ann\0ü', 5))).toBe(true)
      const stored = await fixture.peer.reader.message(fixture.key, id)
      expect(stored).toEqual({ ...round.assistant, feedback: [good('ann\0ü', 5)] })
      const { messages } = await fixture.peer.reader.messages(fixture.key, { order: 'ascending', limit: 10 })
      expect(messages.find((message) => message.id === id)).toEqual(stored)
    })

    test('each person has one rating, the latest, whatever the order and number of writes', async () => {
      const { fixture, id } = await openSaid(stores)
      for (const one of [good('ann', 5), bad('bob', 6), bad('ann', 9), good('ann', 7), bad('ann', 9)])
        expect(await fixture.feedback.give(fixture.key, id, one)).toBe(true)
      expect(await ratings(fixture, id)).toEqual([bad('ann', 9), bad('bob', 6)])
    })

    test('concurrent ratings of several people are all kept', async () => {
      const { fixture, id } = await openSaid(stores)
      const people = Array.from({ length: 8 }, (_, number) => good(`user-${number}`, number))
      const given = people.map((one, place) =>
        (place % 2 === 0 ? fixture : fixture.peer).feedback.give(fixture.key, id, one),
      )
      expect(await Promise.all(given)).toEqual(people.map(() => true))
      expect((await ratings(fixture, id))?.toSorted((one, other) => one.at - other.at)).toEqual(people)
    })

    test('a message keeps the ratings of a hundred people, who may change them', async () => {
      const { fixture, id } = await openSaid(stores)
      for (let number = 0; number <= MAX_RATINGS; number++)
        await fixture.feedback.give(fixture.key, id, good(`user-${number}`, number))
      await fixture.feedback.give(fixture.key, id, bad('user-0', 1_000))
      const kept = await ratings(fixture, id)
      expect(kept).toHaveLength(MAX_RATINGS)
      expect(kept?.[0]).toEqual(bad('user-0', 1_000))
    })

    test('a run with a rated message continues, and another holder can take over the run', async () => {
      const { fixture, lease, round, id } = await openSaid(stores)
      await fixture.peer.feedback.give(fixture.key, id, good('ann', 1))
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, headOf(round), [], 1))
      await takeOver(fixture)
      expect(await ratings(fixture, id)).toEqual([good('ann', 1)])
    })

    test('a holder can repeat a write whose response was lost, even if the written message was rated meanwhile', async () => {
      const { fixture, lease, round, id } = await openSaid(stores)
      await fixture.peer.feedback.give(fixture.key, id, good('ann', 1))
      await fixture.log.appendRound(lease, round)
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      const end = endAfter(fixture, lease, headOf(round))
      const ended = await fixture.log.endRun(lease, end)
      await fixture.peer.feedback.give(fixture.key, end.message?.id ?? '', bad('bob', 2))
      expect(await fixture.log.endRun(lease, end)).toEqual(ended)
      expect(await ratings(fixture, id)).toEqual([good('ann', 1)])
      expect(await ratings(fixture, end.message?.id ?? '')).toEqual([bad('bob', 2)])
    })

    test('only completions of live sessions accept ratings', async () => {
      const { fixture, round, id } = await openSaid(stores)
      const give = (messageId: string, key = fixture.key) => fixture.feedback.give(key, messageId, good('ann', 1))
      const [unknown = ''] = nextIds(id, fixture.clock.now(), 1)
      expect(await give(callOf(round, 0).id)).toBe(false)
      expect(await give(unknown)).toBe(false)
      expect(await give('../meta')).toBe(false)
      expect(await give(id, { ...fixture.key, tenant: 'another' })).toBe(false)
      await fixture.deletion.tombstone(fixture.key)
      expect(await give(id)).toBe(false)
    })
  })
}
