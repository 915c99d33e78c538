import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createLateHints, encodeHint } from '../../../functions/adapters/sqs/queue-messages.ts'
import { createSqsRunQueue } from '../../../functions/adapters/sqs/run-queue.ts'
import { serveHint } from '../../../functions/agent/worker/serve-hint.ts'
import { sweep } from '../../../functions/agent/worker/sweeper.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { RunQueue } from '../../../functions/ports/run-queue.ts'
import { openHarness } from '../../agent/harness.ts'
import type { Harness } from '../../agent/harness.ts'
import { newRun } from '../../contracts/session-fixture.ts'
import { sqsClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { eventually } from '../../eventually.ts'

const SCRIPT = Array.from({ length: 6 }, (_, number) => ({ text: `answer ${number}` }))
const A_MINUTE = 60_000

withEngines(['sqs'], ({ sqs }) => {
  describe('hints in SQS', () => {
    const client = sqsClient(sqs)
    let queueUrl: string
    let queue: RunQueue
    let harness: Harness
    let reports: unknown[]
    beforeEach(async () => {
      reports = []
      queueUrl = (await client.send(new CreateQueueCommand({ QueueName: `q-${crypto.randomUUID()}` }))).QueueUrl ?? ''
      queue = createSqsRunQueue({
        client,
        queueUrl,
        clock: createSystemClock(),
        report: (error) => reports.push(error),
      })
      harness = await openHarness({ script: SCRIPT, change: (ports) => ({ ...ports, queue }) })
    })
    afterEach(() => harness.close())

    const consume = () =>
      queue.consume((hint) => serveHint({ ...harness.ports, worker: harness.worker }, hint, Date.now() + A_MINUTE))
    const isEmpty = async (): Promise<void> => {
      const asked = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] })
      expect((await client.send(asked)).Attributes).toMatchObject({
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: '0',
      })
    }
    const session = async (name: string): Promise<SessionKey> => {
      const key = { tenant: 'default', session: name }
      await harness.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
      return key
    }
    const enqueue = async (key: SessionKey): Promise<string> =>
      (await harness.ports.inbox.enqueue(key, newRun({ agent: 'default' }))).runId
    const hasEnded = (key: SessionKey, runs: readonly string[]): Promise<void> =>
      eventually(async () => {
        for (const run of runs) expect((await harness.ports.reader.run(key, run))?.status).toBe('completed')
      })

    test('a delayed hint arrives, but not before its time', async () => {
      const key = await session('later')
      const run = await enqueue(key)
      const begun = Date.now()
      await createLateHints({ client, queueUrl })(key, 1_500)
      const consuming = consume()
      await hasEnded(key, [run])
      expect(Date.now() - begun).toBeGreaterThanOrEqual(1_500)
      await consuming.stop()
    })

    test('doubled, reordered and late hints execute every input once, in order', async () => {
      const [one, two] = [await session('one'), await session('two')]
      const runs = [await enqueue(one), await enqueue(one), await enqueue(one)]
      const other = await enqueue(two)
      for (const key of [two, one, one, two, one]) await queue.send(key)
      const consumer = consume()
      await hasEnded(one, runs)
      await hasEnded(two, [other])
      await queue.send({ ...one, hops: 99 })
      await eventually(isEmpty)
      await consumer.stop()
      expect(harness.requests).toHaveLength(4)
      const { messages } = await harness.ports.reader.messages(one, { order: 'ascending', limit: 100 })
      expect(messages.map(({ role, runId }) => [role, runId])).toEqual(
        runs.flatMap((run) => [
          ['user', run],
          ['assistant', run],
        ]),
      )
      expect(reports).toEqual([])
    })

    test('a lost hint is replaced by the sweeper', async () => {
      const key = await session('lost')
      const run = await enqueue(key)
      await sweep({ ...harness.ports, queue })
      const consumer = consume()
      await hasEnded(key, [run])
      await eventually(isEmpty)
      await consumer.stop()
      expect(harness.requests).toHaveLength(1)
    })

    test('a hint is acknowledged if a worker holds the lease, or if no work or session exists', async () => {
      const [held, idle] = [await session('held'), await session('idle')]
      await harness.ports.inbox.enqueue(held, newRun({ agent: 'default', startAs: 'somebody else' }))
      const before = await harness.ports.lease.readHeader(held)
      for (const key of [held, idle, { tenant: 'default', session: 'never-was' }]) await queue.send(key)
      const consumer = consume()
      await eventually(isEmpty)
      await consumer.stop()
      expect(reports).toEqual([])
      expect(harness.requests).toEqual([])
      expect(await harness.ports.lease.readHeader(held)).toEqual(before)
    })

    test.each([-3, 1.5, 'many', null])('an invalid number of hops (%j) counts as zero', async (hops) => {
      const key = await session('counted')
      const MessageBody = JSON.stringify({ ...JSON.parse(encodeHint(key)), hops })
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }))
      const seen: unknown[] = []
      const consumer = queue.consume(async (hint) => void seen.push(hint))
      await eventually(() => expect(seen).toEqual([key]))
      await consumer.stop()
    })
  })
})
