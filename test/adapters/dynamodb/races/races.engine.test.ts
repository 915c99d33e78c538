import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MS } from '../../../../functions/domain/session.ts'
import { fresh, header, headOf, openFixture, roundAfter, startRun } from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import { allMessages } from '../../../contracts/snapshot.ts'
import type { Stores } from '../../../contracts/stores.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { isWhole } from '../../../whole.ts'
import { dynamodbEngine } from '../engine.ts'

const WRITERS = 8
const TAKES = isWhole ? 30 : 12

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('races on DynamoDB', () => {
    let stores: Stores
    beforeAll(async () => void (stores = await dynamodbEngine(dynamodb).open()), 120_000)
    afterAll(() => stores.close())

    /** Takes over the run and stores one round. Returns the round's first id; undefined if another process was first. */
    async function takeAndWrite(fixture: SessionFixture, writer: number, number: number): Promise<string | undefined> {
      const ports = writer % 2 === 0 ? fixture : fixture.peer
      const seen = await ports.lease.readHeader(fixture.key)
      const taken = seen && (await ports.lease.take(seen, fresh(`writer-${writer}`)))
      if (taken === undefined) return undefined
      const { lease } = await ports.lease.claim(taken)
      const round = roundAfter(fixture, lease, lease.head, [{ name: `by ${writer}` }], number)
      await ports.log.appendRound(lease, round)
      return round.assistant.id
    }

    test('only one of several concurrent claims of a run succeeds, and the log does not fork', async () => {
      const fixture = await openFixture(stores)
      await startRun(fixture)
      const written: string[] = []
      for (let number = 0; number < TAKES; number++) {
        fixture.clock.advance(LEASE_MS + 1)
        const writers = Array.from({ length: WRITERS }, (_, writer) => takeAndWrite(fixture, writer, number))
        const ids = (await Promise.all(writers)).filter((id) => id !== undefined)
        expect(ids).toHaveLength(1)
        written.push(...ids)
      }
      const messages = await allMessages(fixture.reader, fixture.key)
      expect(messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)).toEqual(written)
      expect(messages.map(({ id }) => id).toSorted()).toEqual(messages.map(({ id }) => id))
    })

    test('if two holders of a lease write at the same time, only the later holder succeeds', async () => {
      const fixture = await openFixture(stores)
      let { lease } = await startRun(fixture)
      for (let number = 0; number < TAKES; number++) {
        fixture.clock.advance(LEASE_MS + 1)
        const taken = await fixture.peer.lease.take(await header(fixture), fresh('next'))
        if (taken === undefined) throw new Error('the run could not be taken')
        const next = await fixture.peer.lease.claim(taken)
        const late = roundAfter(fixture, lease, next.lease.head, [{ name: 'late' }], number)
        const good = roundAfter(fixture, next.lease, next.lease.head, [{ name: 'good' }], number)
        const outcomes = await Promise.allSettled([
          fixture.log.appendRound(lease, late),
          fixture.peer.log.appendRound(next.lease, good),
        ])
        expect(outcomes).toMatchObject([
          { status: 'rejected', reason: { code: 'lease_lost' } },
          { status: 'fulfilled' },
        ])
        expect((await header(fixture)).head).toBe(headOf(good))
        expect(await fixture.reader.message(fixture.key, late.assistant.id)).toBeUndefined()
        lease = next.lease
      }
    })
  })
})
