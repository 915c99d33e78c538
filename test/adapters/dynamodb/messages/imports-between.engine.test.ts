/* Evidence, imports: An input to a busy session gets a later run id than an import stored just before the input. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextId, nextIds } from '../../../../functions/domain/ids.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { Run } from '../../../../functions/domain/runs/run.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import { endAfter, fresh, header, newRun, openFixture, startRun } from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import type { Stores } from '../../../contracts/stores.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { dynamodbEngine } from '../engine.ts'
import { createInterloper } from '../runs/interloper.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('an import by a process with a fast clock, between the read and the write of an input', () => {
    let stores: Stores
    const { between, amid } = createInterloper()
    beforeAll(async () => void (stores = await dynamodbEngine(dynamodb).open({ between })), 120_000)
    afterAll(() => stores.close())

    /** Ends the active run, then imports a turn with a clock ten seconds ahead. */
    async function endAndImport(fixture: SessionFixture, end: () => Promise<unknown>): Promise<void> {
      await end()
      const { clock, peer } = fixture
      clock.advance(10_000)
      const seen = await header(fixture)
      const run: Run = {
        ...({ id: nextId(seen.head, clock.now()), agent: 'helper', status: 'completed', trigger: 'input' } as const),
        ...({ onBusy: 'queue', clientTools: [], createdAt: 5, startedAt: 5, endedAt: 9, rounds: 0 } as const),
        ...({ usage: NO_USAGE, usageByAgent: {}, stopReason: 'imported' } as const),
      }
      const [id = ''] = nextIds(run.id, clock.now(), 1)
      const base = { id, runId: run.id, agent: 'helper', round: 0, createdAt: 5, recordedAt: clock.now() }
      const message: Message = { ...base, role: 'user', parts: [{ type: 'text', text: 'imported' }] }
      expect(await peer.imports.append(seen, { messages: [message], runs: [{ run, isNew: true }] })).toBeDefined()
      clock.advance(-10_000)
    }

    /** Checks that the input's run is the last run, and that the input's message is the last message. */
    async function expectLast(fixture: SessionFixture, accepted: string): Promise<void> {
      const { runs } = await fixture.reader.runs(fixture.key, { limit: 9 })
      expect(runs[0]?.id).toBe(accepted)
      const seen = await header(fixture)
      const started = await fixture.lease.start(seen, fresh('owner'))
      expect(started?.run.id).toBe(accepted)
      expect((started?.message?.id ?? '') > (seen.head ?? '')).toBe(true)
    }

    test.each(['queue', 'steer'] as const)(
      'an input into a busy session (%s) comes after the imported turn',
      async (onBusy) => {
        const fixture = await openFixture(stores)
        const { lease } = await startRun(fixture)
        const end = () => fixture.peer.log.endRun(lease, endAfter(fixture, lease, lease.head))
        const input = () => fixture.inbox.enqueue(fixture.key, newRun({ onBusy }))
        const { runId } = await amid(() => endAndImport(fixture, end), input)
        await expectLast(fixture, runId)
      },
    )

    test('an input comes after the imported turn, even if an earlier queued input is cancelled', async () => {
      const fixture = await openFixture(stores)
      const { runId: queued } = await fixture.inbox.enqueue(fixture.key, newRun())
      const end = () => fixture.peer.inbox.cancel(fixture.key, queued)
      const input = () => fixture.inbox.enqueue(fixture.key, newRun())
      const { runId } = await amid(() => endAndImport(fixture, end), input)
      await expectLast(fixture, runId)
    })

    test('an input comes after the imported turn and after another input that makes the session busy again', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const end = () => fixture.peer.log.endRun(lease, endAfter(fixture, lease, lease.head))
      let other = ''
      const others = async (): Promise<void> => {
        await endAndImport(fixture, end)
        other = (await fixture.peer.inbox.enqueue(fixture.key, newRun())).runId
      }
      const { runId } = await amid(others, () => fixture.inbox.enqueue(fixture.key, newRun()))
      expect(runId > other).toBe(true)
      expect((await fixture.reader.queued(fixture.key)).map(({ id }) => id)).toEqual([other, runId])
    })
  })
})
