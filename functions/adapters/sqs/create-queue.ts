import { CreateQueueCommand, GetQueueAttributesCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'

/** Seconds for which a received hint is hidden from other consumers. */
const VISIBILITY_SECONDS = 120
/** Number of failures after which a hint is dead-lettered. The sweeper still finds its session. */
const MAX_RECEIVES = 5

/**
 * Creates a queue and its dead-letter queue, unless they exist. Returns the queue's address. On AWS, the stack creates
 * them.
 */
export async function createQueueIfAbsent(client: SQSClient, name: string): Promise<string> {
  const deadLetters = await create(client, `${name}-dead-letters`)
  const described = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: deadLetters, AttributeNames: ['QueueArn'] }),
  )
  const queueUrl = await create(client, name)
  const redrive = { deadLetterTargetArn: described.Attributes?.['QueueArn'], maxReceiveCount: MAX_RECEIVES }
  const Attributes = { VisibilityTimeout: String(VISIBILITY_SECONDS), RedrivePolicy: JSON.stringify(redrive) }
  await client.send(new SetQueueAttributesCommand({ QueueUrl: queueUrl, Attributes }))
  return queueUrl
}

async function create(client: SQSClient, name: string): Promise<string> {
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name }))
  if (QueueUrl === undefined) throw new Error(`SQS made queue ${name} but did not return its address`)
  return QueueUrl
}
