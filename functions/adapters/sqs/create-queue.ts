import { CreateQueueCommand, GetQueueAttributesCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'

/** A hint is handled at least this long before somebody else gets it, in seconds. */
const VISIBILITY_SECONDS = 120
/** A hint that fails this often goes to the dead letters; the sweeper finds its session all the same. */
const MAX_RECEIVES = 5

/** Makes a queue with its dead letters unless it exists (on AWS the stack makes it); returns its address. */
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
