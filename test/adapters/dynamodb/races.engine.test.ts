import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../../functions/domain/session.ts'
import { fresh, header, headOf, openScene, roundAfter, startRun } from '../../contracts/scene.ts'
import type { Scene } from '../../contracts/scene.ts'
import { allMessages } from '../../contracts/snapshot.ts'
import type { Stores } from '../../contracts/stores.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { dynamodbEngine } from './engine.ts'

const WRITERS = 8
const TAKES = 30

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('races on DynamoDB', () => {
    let stores: Stores
    beforeAll(async () => void (stores = await dynamodbEngine(dynamodb).open()), 120_000)
    afterAll(() => stores.close())

    /** Takes the run when it can, and stores one round; answers the round's first id, or undefined when it lost. */
    async function takeAndWrite(scene: Scene, writer: number, number: number): Promise<string | undefined> {
      const ports = writer % 2 === 0 ? scene : scene.peer
      const seen = await ports.lease.look(scene.key)
      const taken = seen && (await ports.lease.take(seen, fresh(`writer-${writer}`)))
      if (taken === undefined) return undefined
      const { lease } = await ports.lease.claim(taken)
      const round = roundAfter(scene, lease, lease.head, [{ name: `by ${writer}` }], number)
      await ports.log.appendRound(lease, round)
      return round.assistant.id
    }

    test('of many writers that take one run again and again, each take has one winner, and the log has no fork', async () => {
      const scene = await openScene(stores)
      await startRun(scene)
      const written: string[] = []
      for (let number = 0; number < TAKES; number++) {
        scene.clock.advance(LEASE_MS + 1)
        const writers = Array.from({ length: WRITERS }, (_, writer) => takeAndWrite(scene, writer, number))
        const ids = (await Promise.all(writers)).filter((id) => id !== undefined)
        expect(ids).toHaveLength(1)
        written.push(...ids)
      }
      const messages = await allMessages(scene.reader, scene.key)
      expect(messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)).toEqual(written)
      expect(messages.map(({ id }) => id).toSorted()).toEqual(messages.map(({ id }) => id))
    })

    test('two holders that both believe in their lease write at once: only the later one is stored', async () => {
      const scene = await openScene(stores)
      let { lease } = await startRun(scene)
      for (let number = 0; number < TAKES; number++) {
        scene.clock.advance(LEASE_MS + 1)
        const taken = await scene.peer.lease.take(await header(scene), fresh('next'))
        if (taken === undefined) throw new Error('the run could not be taken')
        const next = await scene.peer.lease.claim(taken)
        const late = roundAfter(scene, lease, next.lease.head, [{ name: 'late' }], number)
        const good = roundAfter(scene, next.lease, next.lease.head, [{ name: 'good' }], number)
        const outcomes = await Promise.allSettled([
          scene.log.appendRound(lease, late),
          scene.peer.log.appendRound(next.lease, good),
        ])
        expect(outcomes).toMatchObject([
          { status: 'rejected', reason: { code: 'lease_lost' } },
          { status: 'fulfilled' },
        ])
        expect((await header(scene)).head).toBe(headOf(good))
        expect(await scene.reader.message(scene.key, late.assistant.id)).toBeUndefined()
        lease = next.lease
      }
    })
  })
})
