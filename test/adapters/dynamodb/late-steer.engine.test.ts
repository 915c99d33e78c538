/* Evidence, usage: On DynamoDB, an attempt of `steer` or of a counter update that arrives after its retry changes nothing. */
/*
 * An operation of the run log is repeated if its first attempt gets no response. The second attempt returns the result
 * that the first attempt stored. This holds even if the first attempt lands between the read and the write of the
 * second attempt.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextId } from '../../../functions/domain/ids.ts'
import { newRun, openFixture, startRun } from '../../contracts/session-fixture.ts'
import type { Stores } from '../../contracts/stores.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { dynamodbEngine } from './engine.ts'
import { createInterloper } from './runs/interloper.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('a first attempt that arrives late', () => {
    let stores: Stores
    const { between, amid } = createInterloper()
    beforeAll(async () => void (stores = await dynamodbEngine(dynamodb).open({ between })), 120_000)
    afterAll(() => stores.close())

    test('a repeated steer returns the message that the first attempt stored', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const input = { parts: [{ type: 'text' as const, text: 'use the other file' }] }
      const queued = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer', input }))
      const id = nextId(lease.head, fixture.clock.now())
      const first = () => fixture.peer.log.steer(lease, queued.runId, id)
      const second = await amid(first, () => fixture.log.steer(lease, queued.runId, id))
      const stored = await fixture.reader.message(fixture.key, id)
      expect(stored).toMatchObject({ role: 'user', runId: lease.runId })
      expect(second).toEqual(stored)
    })
  })
})
