import { CreateQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { expect, test } from 'vitest'
import { deadLetterMessages } from '../../../functions/adapters/sqs/dead-letters.ts'
import { sqsClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'

withEngines(['sqs'], ({ sqs }) => {
  test('messages that become visible again during the listing are returned once', async () => {
    const client = sqsClient(sqs)
    const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: `q-${crypto.randomUUID()}` }))
    const ids = ['m1', 'm2', 'm3']
    for (const messageId of ids) {
      const body = { tenant: 'default', session: 's', messageId }
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(body) }))
    }
    // Simulates a slow listing, which takes longer than the visibility timeout of the messages.
    let asked = 0
    client.middlewareStack.add((next) => async (args) => {
      asked++
      Object.assign(args.input, { VisibilityTimeout: 0 })
      return next(args)
    })
    const returned: string[] = []
    for await (const { changes } of deadLetterMessages({ client, queueUrl: QueueUrl }))
      returned.push(...changes.map(({ messageId }) => messageId))
    expect(returned.toSorted()).toEqual(ids)
    expect(asked).toBeLessThan(12)
  })
})
