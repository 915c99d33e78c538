import { describe, expect, test } from 'vitest'
import type { Hint, RunQueue } from '../../functions/ports/run-queue.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { eventually } from '../eventually.ts'

const key = (session: string): SessionKey => ({ tenant: 'default', session })

/** Contract of every run queue (functions/ports/run-queue.ts): a hint reaches a handler at least once, and soon. */
export function runQueueContract(name: string, open: () => RunQueue | Promise<RunQueue>): void {
  describe(`${name} keeps the promises of a run queue`, () => {
    test('a hint reaches the handler with tenant and session', async () => {
      const queue = await open()
      const seen: SessionKey[] = []
      const consumer = queue.consume(async (hint) => void seen.push(hint))
      await queue.send({ tenant: 'other', session: 'A:b.c-1' })
      await eventually(() => expect(seen).toEqual([{ tenant: 'other', session: 'A:b.c-1' }]))
      await consumer.stop()
    })

    test('a hint reaches the handler with its number of hops', async () => {
      const queue = await open()
      const seen: Hint[] = []
      const consumer = queue.consume(async (hint) => void seen.push(hint))
      await queue.send({ ...key('handed-on'), hops: 7 })
      await eventually(() => expect(seen).toEqual([{ ...key('handed-on'), hops: 7 }]))
      await consumer.stop()
    })

    test('a hint sent before a handler listened is not lost', async () => {
      const queue = await open()
      await queue.send(key('early'))
      const seen: string[] = []
      const consumer = queue.consume(async ({ session }) => void seen.push(session))
      await eventually(() => expect(seen).toContain('early'))
      await consumer.stop()
    })

    test('a hint is delivered again if its handler rejects', async () => {
      const queue = await open()
      let calls = 0
      const consumer = queue.consume(async () => {
        calls += 1
        if (calls < 3) throw new Error('not yet')
      })
      await queue.send(key('stubborn'))
      await eventually(() => expect(calls).toBe(3))
      await consumer.stop()
    })

    test('a slow handler does not delay other sessions', async () => {
      const queue = await open()
      const gate = Promise.withResolvers<void>()
      const seen: string[] = []
      const consumer = queue.consume(async ({ session }) => {
        seen.push(session)
        if (session === 'long') await gate.promise
      })
      await queue.send(key('long'))
      await eventually(() => expect(seen).toContain('long'))
      await queue.send(key('short'))
      await eventually(() => expect(seen).toContain('short'))
      gate.resolve()
      await consumer.stop()
    })

    test('a hint that arrives while its session is being handled is handled afterwards', async () => {
      const queue = await open()
      const gate = Promise.withResolvers<void>()
      let calls = 0
      const consumer = queue.consume(async () => {
        calls += 1
        if (calls === 1) await gate.promise
      })
      await queue.send(key('busy'))
      await eventually(() => expect(calls).toBe(1))
      await queue.send(key('busy'))
      gate.resolve()
      await eventually(() => expect(calls).toBe(2))
      await consumer.stop()
    })

    test('stop waits for running handlers, and starts no others', async () => {
      const queue = await open()
      const gate = Promise.withResolvers<void>()
      const steps: string[] = []
      const consumer = queue.consume(async ({ session }) => {
        steps.push(`${session} begins`)
        await gate.promise
        steps.push(`${session} ends`)
      })
      await queue.send(key('one'))
      await eventually(() => expect(steps).toEqual(['one begins']))
      const stopped = consumer.stop().then(() => steps.push('stopped'))
      await queue.send(key('two'))
      gate.resolve()
      await stopped
      expect(steps).toEqual(['one begins', 'one ends', 'stopped'])
    })
  })
}
