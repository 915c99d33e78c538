import { GetQueueAttributesCommand, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'

export interface QueueDepth {
  /** Messages that anyone may take, or soon may. */
  readonly waiting: number
  /** Messages that someone has taken and not finished. */
  readonly taken: number
}

/** About how many messages a queue holds. */
export async function queueDepth(client: SQSClient, queueUrl: string): Promise<QueueDepth> {
  const count = await attributesOf(client, queueUrl)
  return {
    waiting: count('ApproximateNumberOfMessages') + count('ApproximateNumberOfMessagesDelayed'),
    taken: count('ApproximateNumberOfMessagesNotVisible'),
  }
}

/** Has SQS send dead letters back to their queue; returns about how many. Does nothing if there are none. */
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
