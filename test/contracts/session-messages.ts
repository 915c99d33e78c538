import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextIds } from '../../functions/domain/ids.ts'
import type { SessionMessages } from '../../functions/domain/session-messages.ts'
import { importInputs } from './import-inputs.ts'
import {
  callOf,
  endAfter,
  headOf,
  newRun,
  openFixture,
  resultOf,
  roundAfter,
  startRun,
  type SessionFixture,
} from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** Contract for message counts and times: each write that appends messages updates them once. */
export function sessionMessagesContract(engine: Engine): void {
  describe(`messages of sessions on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    const messagesOf = async ({ key, peer }: SessionFixture): Promise<SessionMessages | undefined> =>
      (await peer.sessions.read(key))?.messages

    /** Moves the clock by a second, and returns the time. */
    const later = (): number => {
      stores.clock.advance(1_000)
      return stores.clock.now()
    }

    test("each write of a run counts its messages, except tool results and members' messages", async () => {
      const fixture = await openFixture(stores)
      expect(await messagesOf(fixture)).toEqual({ count: 0 })
      await fixture.inbox.enqueue(fixture.key, newRun())
      expect(await messagesOf(fixture)).toEqual({ count: 0 })
      const firstAt = later()
      const seen = await fixture.lease.readHeader(fixture.key)
      const started = seen && (await fixture.lease.start(seen, 'owner'))
      if (started === undefined) throw new Error('the run did not start')
      const { lease } = started
      expect(await messagesOf(fixture)).toEqual({ count: 1, firstAt, lastAt: firstAt })
      const roundAt = later()
      const round = roundAfter(fixture, lease, started.message?.id, [{ name: 'ask' }])
      for (let attempt = 0; attempt < 2; attempt++) await fixture.log.appendRound(lease, round)
      expect(await messagesOf(fixture)).toEqual({ count: 2, firstAt, lastAt: roundAt })
      const taskAt = later()
      const [id = ''] = nextIds(headOf(round), taskAt, 1)
      const base = { runId: lease.runId, agent: 'member', round: 0, createdAt: taskAt, parentToolCallId: 'call-0-0' }
      const task = { ...base, id, role: 'user', parts: [{ type: 'text', text: 'A task' }] } as const
      for (let attempt = 0; attempt < 2; attempt++) await fixture.log.append(lease, [task])
      expect(await messagesOf(fixture)).toEqual({ count: 2, firstAt, lastAt: taskAt })
      later()
      await fixture.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
      expect(await messagesOf(fixture)).toEqual({ count: 2, firstAt, lastAt: taskAt })
      const lastAt = later()
      const end = endAfter(fixture, lease, id)
      for (let attempt = 0; attempt < 2; attempt++) await fixture.log.endRun(lease, end)
      expect(await messagesOf(fixture)).toEqual({ count: 3, firstAt, lastAt })
    })

    test('a steering input counts when it becomes a message', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const firstAt = stores.clock.now()
      later()
      const steering = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
      expect(await messagesOf(fixture)).toEqual({ count: 1, firstAt, lastAt: firstAt })
      const lastAt = later()
      const [id = ''] = nextIds(lease.head, lastAt, 1)
      for (let attempt = 0; attempt < 2; attempt++) await fixture.log.steer(lease, steering.runId, id)
      expect(await messagesOf(fixture)).toEqual({ count: 2, firstAt, lastAt })
    })

    test("imported messages keep their source's times, whatever the times of existing messages", async () => {
      const fixture = await openFixture(stores)
      const now = stores.clock.now()
      await importInputs(fixture, [
        { text: 'later', createdAt: now - 5_000 },
        { text: 'earlier', createdAt: now - 9_000 },
        { text: 'a task', createdAt: now - 10_000, parent: 'call-1' },
      ])
      expect(await messagesOf(fixture)).toEqual({ count: 2, firstAt: now - 10_000, lastAt: now - 5_000 })
      await importInputs(fixture, [{ text: 'of the future', createdAt: now + 3_600_000 }])
      const { lease } = await startRun(fixture)
      await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect(await messagesOf(fixture)).toEqual({ count: 5, firstAt: now - 10_000, lastAt: now + 3_600_000 })
    })
  })
}
