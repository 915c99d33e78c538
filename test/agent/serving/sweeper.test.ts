import { expect, test } from 'vitest'
import { sweep } from '../../../functions/agent/serving/sweeper.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { setStage } from '../stage.ts'

const keys: readonly SessionKey[] = ['a', 'b', 'c'].map((session) => ({ tenant: 't', session }))
const none = (): Promise<never> => Promise.reject(new Error('not asked for here'))

/** A sweep of three due sessions, of which each takes a second. */
async function swept(deadline: number, failing?: string) {
  let now = 0
  const hinted: string[] = []
  const failed: unknown[] = []
  await sweep(
    {
      janitor: { due: async () => keys, expired: async () => [], clearDue: none },
      lease: {
        look: async ({ session }) => {
          now += 1_000
          if (session === failing) throw new Error('the store is down')
          return undefined
        },
        start: none,
        take: none,
        claim: none,
        heartbeat: none,
        release: none,
      },
      deletion: { tombstone: none, removeRows: none, markRemoved: none, finish: none, state: none },
      outputs: { put: none, read: none, stat: none, link: none, removeAll: none },
      queue: { send: async ({ session }) => void hinted.push(session), consume: () => ({ stop: none }) },
      clock: { now: () => now, sleep: none },
      logger: { info: () => undefined, warn: () => undefined, error: (_, cause) => void failed.push(cause) },
    },
    deadline,
  )
  return { hinted, failed }
}

test('a sweep hints at what is due, and leaves to the next one what is left at its deadline', async () => {
  expect((await swept(Infinity)).hinted).toEqual(['a', 'b', 'c'])
  expect((await swept(1_500)).hinted).toEqual(['a', 'b'])
})

test('a session whose sweep fails is told of, and keeps no other waiting', async () => {
  expect(await swept(Infinity, 'b')).toMatchObject({ hinted: ['a', 'c'], failed: [{ message: 'the store is down' }] })
})

test('a deletion begun a moment ago is left to whoever counts what it removes; one that stood still goes on', async () => {
  const stage = await setStage({ script: [{ text: 'hello' }] })
  await stage.settled(await stage.submit('hi'))
  await stage.ports.deletion.tombstone(stage.key)
  const sweepAfter = (milliseconds: number): Promise<void> =>
    sweep({ ...stage.ports, clock: { ...stage.ports.clock, now: () => stage.ports.clock.now() + milliseconds } })
  await sweepAfter(0)
  expect(await stage.ports.deletion.state(stage.key)).toMatchObject({ removed: false, messages: 0 })
  await sweepAfter(2_000)
  expect(await stage.ports.deletion.state(stage.key)).toMatchObject({ removed: true, messages: 2, runs: 1 })
  await stage.close()
})
