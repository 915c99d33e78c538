import { BatchGetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { LEASE_MS } from '../../../../functions/domain/session.ts'
import {
  resolutionOf,
  callOf,
  endAfter,
  expectCode,
  fresh,
  header,
  headOf,
  newRun,
  openFixture,
  pausedRun,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import type { Stores } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { dynamodbEngine } from '../engine.ts'
import { createInterloper } from './interloper.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('a write on DynamoDB between the read and the write of another operation', () => {
    let stores: Stores
    const { between, amid } = createInterloper()
    beforeAll(async () => void (stores = await dynamodbEngine(dynamodb).open({ between })), 120_000)
    afterAll(() => stores.close())
    const open = (): Promise<SessionFixture> => openFixture(stores)

    test('a cancel before the end of a run prevents a normal end', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const cancel = () => fixture.peer.inbox.cancel(fixture.key, lease.runId)
      expect(await amid(cancel, () => fixture.log.endRun(lease, endAfter(fixture, lease, lease.head)))).toBeUndefined()
      expect(await header(fixture)).toMatchObject({ activeRun: lease.runId, cancel: { reason: 'user' } })
    })

    test('an input before the end of a run makes the session due', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const input = () => fixture.peer.inbox.enqueue(fixture.key, newRun())
      await amid(input, () => fixture.log.endRun(lease, endAfter(fixture, lease, lease.head)))
      const after = await header(fixture)
      expect(after).toMatchObject({ queued: 1 })
      expect(after).toHaveProperty('due')
    })

    test('a cancel before a pause prevents the pause', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      await fixture.log.appendRound(lease, roundAfter(fixture, lease, lease.head, [{ name: 'ask', needs: 'result' }]))
      const cancel = () => fixture.peer.inbox.cancel(fixture.key, lease.runId)
      expect(await amid(cancel, () => fixture.log.pause(lease))).toBeUndefined()
      expect(await header(fixture)).toMatchObject({ paused: false, cancel: { reason: 'user' } })
    })

    test('a cancel before a resolution prevents the resolution of the call', async () => {
      const fixture = await open()
      const { started, round } = await pausedRun(fixture, [{ name: 'ask', id: 'one', needs: 'result' }])
      const { runId } = started.lease
      const cancel = () => fixture.peer.inbox.cancel(fixture.key, runId)
      const resolve = () => fixture.inbox.resolve(fixture.key, runId, [resolutionOf('one')])
      await expectCode(amid(cancel, resolve), 'resolution_conflict')
      expect(await fixture.reader.message(fixture.key, callOf(round, 0).id)).toMatchObject({ status: 'waiting' })
    })

    test('a cancel changes nothing if the run ends first', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const end = () => fixture.peer.log.endRun(lease, endAfter(fixture, lease, lease.head))
      expect(await amid(end, () => fixture.inbox.cancel(fixture.key, lease.runId))).toEqual({ state: 'ended' })
      expect(await header(fixture)).not.toHaveProperty('cancel')
    })

    test('taking a lease fails if another process meanwhile takes, claims and releases the lease', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      await fixture.lease.release(lease)
      const seen = await header(fixture)
      expect(seen.generation).toBeGreaterThan(lease.generation)
      const takeAndRelease = async (): Promise<void> => {
        const taken = await fixture.peer.lease.take(seen, fresh('faster'))
        if (taken !== undefined) await fixture.peer.lease.release((await fixture.peer.lease.claim(taken)).lease)
      }
      expect(await amid(takeAndRelease, () => fixture.lease.take(seen, fresh('slower')))).toBeUndefined()
      expect((await header(fixture)).generation).toBeGreaterThan(seen.generation + 1)
    })

    test('if a lease’s previous holder stores a notice, taking the lease fails and the notice is kept', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      fixture.clock.advance(LEASE_MS + 1)
      const notice = { type: 'context.nearly_full', messages: 9, threshold: 10, after: lease.head ?? '' } as const
      const decide = () => fixture.peer.log.recordDecision(lease, { number: 0, notices: [notice] })
      const seen = await header(fixture)
      expect(await amid(decide, () => fixture.lease.take(seen, fresh('next')))).toBeUndefined()
      await takeOver(fixture)
      const run = await fixture.reader.run(fixture.key, lease.runId)
      expect(run?.notices?.map(({ type }) => type)).toEqual(['context.nearly_full', 'run.resumed'])
    })

    test('a claim fails with lease_lost after another holder took the lease, and that holder keeps its calls', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'pay' }])
      await fixture.log.appendRound(lease, round)
      fixture.clock.advance(LEASE_MS + 1)
      const taken = await fixture.lease.take(await header(fixture), fresh('slow'))
      if (taken === undefined) throw new Error('the run could not be taken')
      let later = taken
      const overtake = async (): Promise<void> => void (later = (await takeOver(fixture)).lease)
      await expectCode(
        amid(overtake, () => fixture.lease.claim(taken)),
        'lease_lost',
      )
      const result = resultOf(fixture, callOf(round, 0).id)
      expect(await fixture.peer.log.completeCall(later, result)).toMatchObject({ status: 'completed' })
    })

    test('an input gets a greater id than the previous input, which a process with a fast clock stored', async () => {
      const fixture = await open()
      await startRun(fixture)
      let first = ''
      const ahead = async (): Promise<void> => {
        fixture.clock.advance(10_000)
        first = (await fixture.peer.inbox.enqueue(fixture.key, newRun())).runId
        fixture.clock.advance(-10_000)
      }
      const second = await amid(ahead, () => fixture.inbox.enqueue(fixture.key, newRun()))
      expect(second.runId > first).toBe(true)
    })

    test('an input that starts at once gets a new generation if a run with a smaller id ended', async () => {
      const fixture = await open()
      const before = await header(fixture)
      const behind = async (): Promise<void> => {
        fixture.clock.advance(-10_000)
        const { lease } = await startRun({ ...fixture, ...fixture.peer })
        await fixture.peer.log.endRun(lease, endAfter(fixture, lease, lease.head))
        fixture.clock.advance(10_000)
      }
      await amid(behind, () => fixture.inbox.enqueue(fixture.key, newRun({ startAs: fresh('owner') })))
      expect((await header(fixture)).generation).toBeGreaterThan(before.generation + 1)
      expect((await fixture.reader.runs(fixture.key, { limit: 9 })).runs).toHaveLength(2)
    })

    test('two inputs with the same idempotency key become one run', async () => {
      const fixture = await open()
      await startRun(fixture)
      const run = newRun({ idempotency: { keyHash: 'key', bodyHash: 'body' } })
      let first = ''
      // The other process's input gets a smaller id, because its clock is behind. A check of the ids' order alone would accept
      // both inputs.
      fixture.clock.advance(20_000)
      const repeat = async (): Promise<void> => {
        fixture.clock.advance(-10_000)
        first = (await fixture.peer.inbox.enqueue(fixture.key, run)).runId
        fixture.clock.advance(10_000)
      }
      expect(await amid(repeat, () => fixture.inbox.enqueue(fixture.key, run))).toEqual({
        runId: first,
        repeated: true,
      })
      expect(await fixture.reader.queued(fixture.key)).toHaveLength(1)
    })

    test('the previous holder cannot repair calls after another process took the lease without claiming it', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'pay' }])
      await fixture.log.appendRound(lease, round)
      const take = async (): Promise<void> => {
        fixture.clock.advance(LEASE_MS + 1)
        await fixture.peer.lease.take(await header(fixture), fresh('next'))
      }
      const call = callOf(round, 0).id
      await expectCode(
        amid(take, () => fixture.log.repair(lease, [call])),
        'lease_lost',
      )
      expect(await fixture.reader.message(fixture.key, call)).toMatchObject({ status: 'running' })
    })

    test('a result stored by a later holder is not accepted as the result of the previous holder', async () => {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'read' }])
      await fixture.log.appendRound(lease, round)
      const result = resultOf(fixture, callOf(round, 0).id)
      const overtake = async (): Promise<void> => {
        const { lease: later } = await takeOver(fixture)
        await fixture.peer.log.completeCall(later, result)
      }
      await expectCode(
        amid(overtake, () => fixture.log.completeCall(lease, result)),
        'lease_lost',
      )
    })
  })

  test('a page of deliveries continues after a delivery that is deleted during the read', async () => {
    const client = dynamodbClient(dynamodb)
    let remove: (() => Promise<unknown>) | undefined
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (args) => {
          const first = commandName === BatchGetItemCommand.name ? remove : undefined
          if (first !== undefined) remove = undefined
          await first?.()
          return next(args)
        },
      { step: 'initialize', name: 'deletion' },
    )
    const stores = await dynamodbEngine(dynamodb, client).open()
    try {
      const tenant = fresh('tenant')
      const ids: string[] = []
      for (const remains of [true, true, false]) {
        const fixture = await openFixture(stores, { tenant })
        const { run } = await startRun(fixture, { delivery: { kind: 'paper', target: {} } })
        if (remains) ids.unshift(run.id)
        else
          remove = async () => {
            await fixture.deletion.tombstone(fixture.key)
            while ((await fixture.deletion.removeRows(fixture.key, 100)).more);
          }
      }
      const found: string[] = []
      let after: string | undefined
      do {
        const filter = { tenant, kind: 'paper', limit: 1, ...definedFields({ after }) }
        const { deliveries, next } = await stores.outbox.list(filter)
        found.push(...deliveries.map(({ id }) => id))
        after = next
      } while (after !== undefined)
      expect([found, remove]).toEqual([ids, undefined])
    } finally {
      await stores.close()
    }
  })

  test('all reads by key are strongly consistent', async () => {
    const client = dynamodbClient(dynamodb)
    const weak: unknown[] = []
    let reads = 0
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        ({ input }) => {
          const one = input as { IndexName?: string; ConsistentRead?: boolean; RequestItems?: object }
          const isRead = commandName === QueryCommand.name || commandName === BatchGetItemCommand.name
          if (isRead && one.IndexName === undefined) {
            reads++
            const parts = one.RequestItems === undefined ? [one] : Object.values(one.RequestItems)
            if (!parts.every((part: { ConsistentRead?: boolean }) => part.ConsistentRead === true)) weak.push(input)
          }
          return next({ input })
        },
      { step: 'initialize', name: 'reads' },
    )
    const stores = await dynamodbEngine(dynamodb, client).open()
    try {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'read' }])
      await fixture.log.appendRound(lease, round)
      await fixture.inbox.enqueue(fixture.key, newRun())
      await takeOver(fixture, fixture)
      await fixture.reader.queued(fixture.key)
      await fixture.reader.messages(fixture.key, { order: 'descending', limit: 10 })
      await fixture.sessions.read(fixture.key)
      expect(headOf(round)).toBe((await header(fixture)).head)
      expect([weak, reads > 5]).toEqual([[], true])
    } finally {
      await stores.close()
    }
  })
})
