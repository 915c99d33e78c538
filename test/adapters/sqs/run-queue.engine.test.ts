import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createSqsRunQueue } from '../../../functions/adapters/sqs/run-queue.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { RunQueue } from '../../../functions/ports/run-queue.ts'
import { runQueueContract } from '../../contracts/run-queue.ts'
import { sqsClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { eventually } from '../../eventually.ts'

withEngines(['sqs'], ({ sqs }) => {
  const client = sqsClient(sqs)
  const clock = createSystemClock()
  const hintOf = (session: string): SessionKey => ({ tenant: 'default', session })

  async function makeQueue(attributes: Record<string, string> = {}): Promise<string> {
    const command = new CreateQueueCommand({ QueueName: `q-${crypto.randomUUID()}`, Attributes: attributes })
    const { QueueUrl } = await client.send(command)
    if (QueueUrl === undefined) throw new Error('no queue was made')
    return QueueUrl
  }
  const open = (queueUrl: string, reports: unknown[] = []): RunQueue =>
    createSqsRunQueue({ client, queueUrl, clock, report: (error) => void reports.push(error) })
  async function counts(queueUrl: string): Promise<Record<string, string>> {
    const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] })
    return (await client.send(command)).Attributes ?? {}
  }
  const EMPTY = { ApproximateNumberOfMessages: '0', ApproximateNumberOfMessagesNotVisible: '0' }

  runQueueContract('SQS', async () => open(await makeQueue()))

  test('each hint, even one sent before the consumer started, reaches one handler and is deleted afterwards', async () => {
    const queueUrl = await makeQueue()
    const [first, second] = [open(queueUrl), open(queueUrl)]
    const seen: string[] = []
    for (let n = 0; n < 15; n++) await first.send(hintOf(`before-${n}`))
    const consumers = [first, second].map((queue) => queue.consume(async ({ session }) => void seen.push(session)))
    for (let n = 0; n < 15; n++) await second.send(hintOf(`after-${n}`))
    await eventually(() => expect(new Set(seen).size).toBe(30))
    await Promise.all(consumers.map((consumer) => consumer.stop()))
    expect(seen).toHaveLength(30)
    expect(await counts(queueUrl)).toMatchObject(EMPTY)
  })

  test('a hint whose handler rejects is reported, redelivered after a delay, and deleted once handled', async () => {
    const queueUrl = await makeQueue()
    const reports: unknown[] = []
    const queue = open(queueUrl, reports)
    const times: number[] = []
    const consumer = queue.consume(async () => {
      times.push(Date.now())
      if (times.length < 3) throw new Error('not now')
    })
    await queue.send(hintOf('again'))
    await eventually(() => expect(times).toHaveLength(3))
    await consumer.stop()
    expect(reports.map(String)).toEqual(['Error: not now', 'Error: not now'])
    const [first = 0, second = 0, third = 0] = times
    expect(second - first).toBeGreaterThan(900)
    expect(third - second).toBeGreaterThan(1_800)
    expect(await counts(queueUrl)).toMatchObject(EMPTY)
  })

  test('a message that is no valid hint is dead-lettered, and does not block other messages', async () => {
    const dead = await makeQueue()
    const RedrivePolicy = JSON.stringify({
      deadLetterTargetArn: (await counts(dead))['QueueArn'],
      maxReceiveCount: 1,
    })
    const queueUrl = await makeQueue({ RedrivePolicy, VisibilityTimeout: '1' })
    const reports: unknown[] = []
    const queue = open(queueUrl, reports)
    const seen: string[] = []
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: '{"tenant":"default"}' }))
    const consumer = queue.consume(async ({ session }) => void seen.push(session))
    await queue.send(hintOf('fine'))
    await eventually(() => expect(seen).toEqual(['fine']))
    await eventually(async () => expect((await counts(dead))['ApproximateNumberOfMessages']).toBe('1'))
    await consumer.stop()
    expect(String(reports[0])).toContain('not a hint')
  })

  test('"stop" waits for running handlers and accepts no further hint', async () => {
    const queueUrl = await makeQueue()
    const queue = open(queueUrl)
    const gate = Promise.withResolvers<void>()
    let [begun, ended] = [0, 0]
    const consumer = queue.consume(async () => {
      begun += 1
      await gate.promise
      ended += 1
    })
    await queue.send(hintOf('slow'))
    await eventually(() => expect(begun).toBe(1))
    const stopped = consumer.stop().then(() => ended)
    await queue.send(hintOf('late'))
    gate.resolve()
    expect(await stopped).toBe(1)
    expect(begun).toBe(1)
    // The aborted poll may have received the late hint. In this case, the hint is invisible until its visibility timeout ends.
    const left = await counts(queueUrl)
    const places = [left['ApproximateNumberOfMessages'], left['ApproximateNumberOfMessagesNotVisible']]
    expect(places.map(Number).reduce((sum, count) => sum + count)).toBe(1)
  })

  test('a failed send rejects, and a failed poll is reported and retried', async () => {
    const reports: unknown[] = []
    const queue = open(`${sqs}/000000000000/none`, reports)
    await expect(queue.send(hintOf('lost'))).rejects.toThrow()
    const consumer = queue.consume(async () => {})
    await eventually(() => expect(reports.length).toBeGreaterThan(1))
    await consumer.stop()
  })
})
