import { GetQueueAttributesCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'

export interface QueueDepth {
  /** Messages that a consumer can receive now or soon. */
  readonly waiting: number
  /** Messages that a consumer has received and not deleted. */
  readonly taken: number
}

/** Returns the approximate number of messages in a queue. */
export async function queueDepth(client: SQSClient, queueUrl: string): Promise<QueueDepth> {
  const count = await attributesOf(client, queueUrl)
  return {
    waiting: count('ApproximateNumberOfMessages') + count('ApproximateNumberOfMessagesDelayed'),
    taken: count('ApproximateNumberOfMessagesNotVisible'),
  }
}

/** Makes SQS move dead letters back to their queue, if there are any. Returns their approximate number. */
export async function resendDeadLetters(client: SQSClient, deadLetterUrl: string): Promise<number> {
  const { waiting } = await queueDepth(client, deadLetterUrl)
  if (waiting === 0) return 0
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: deadLetterUrl, AttributeNames: ['QueueArn'] }),
  )
  await client.send(new StartMessageMoveTaskCommand({ SourceArn: Attributes?.QueueArn }))
  return waiting
}

async function attributesOf(client: SQSClient, queueUrl: string): Promise<(name: string) => number> {
  const { Attributes: attributes = {} } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
  )
  return (name) => Number((attributes as Readonly<Record<string, string>>)[name] ?? 0)
}
