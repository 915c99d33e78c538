import { randomUUID } from 'node:crypto'
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { sqsClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { within } from '../../scenarios/within.ts'
import { QueueProperties, makeQueue } from '../template/provision.ts'
import { QueueMappingProperties, startQueueMapping } from './queue-mapping.ts'

interface Received {
  readonly Records: readonly {
    readonly messageId: string
    readonly body: string
    readonly attributes: { readonly ApproximateReceiveCount: string }
  }[]
}

withEngines(['sqs'], ({ sqs }) => {
  test('only records that a function reports as failed are redelivered; after the last attempt they are dead-lettered', async () => {
    const client = sqsClient(sqs)
    const name = `mapping-${randomUUID()}`
    const deadLetters = await makeQueue(client, `${name}-dead`, QueueProperties.parse({}))
    const RedrivePolicy = { deadLetterTargetArn: deadLetters.arn, maxReceiveCount: 2 }
    const queue = await makeQueue(client, name, QueueProperties.parse({ VisibilityTimeout: 1, RedrivePolicy }))
    const events: Received[] = []
    const properties = { FunctionName: 'f', EventSourceArn: 'arn', FunctionResponseTypes: ['ReportBatchItemFailures'] }
    const mapping = startQueueMapping({
      properties: QueueMappingProperties.parse({ ...properties, ScalingConfig: { MaximumConcurrency: 1 } }),
      client,
      queueUrl: queue.url,
      pool: {
        async invoke(event) {
          events.push(event as Received)
          const failed = (event as Received).Records.filter(({ body }) => body === 'bad')
          const batchItemFailures = failed.map(({ messageId }) => ({ itemIdentifier: messageId }))
          return { ok: true, body: Buffer.from(JSON.stringify({ batchItemFailures })) }
        },
      },
    })
    try {
      for (const MessageBody of ['good', 'bad', 'good'])
        await client.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody }))
      const dead = await within(120_000, 'the dead letter', async () => {
        const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl: deadLetters.url }))
        return Messages?.[0]?.Body
      })
      expect(dead).toBe('bad')
      const records = events.flatMap(({ Records }) => Records)
      expect(records.filter(({ body }) => body === 'good')).toHaveLength(2)
      const bad = records.filter(({ body }) => body === 'bad')
      expect(bad.map(({ attributes }) => attributes.ApproximateReceiveCount)).toStrictEqual(['1', '2'])
    } finally {
      await mapping.stop()
      await Promise.all([queue.remove(), deadLetters.remove()])
    }
  })
})
