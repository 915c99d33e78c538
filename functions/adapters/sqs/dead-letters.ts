import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'
import { z } from 'zod'
import type { FailedBatches } from '../../ports/failed-indexing.ts'

/** Seconds for which nobody else gets what was received; what is not forgotten by then comes back. */
const VISIBILITY_SECONDS = 300
const AT_ONCE = 10

const Body = z.object({ tenant: z.string(), session: z.string(), messageId: z.string() })

/** The messages that cannot be indexed, one in each batch. Ends when the queue has none that was not returned yet. */
export async function* deadLetterMessages({
  client,
  queueUrl,
}: {
  readonly client: SQSClient
  readonly queueUrl: string
}): FailedBatches {
  const returned = new Set<string>()
  // What is not forgotten comes back, again and again if it takes long to go through all.
  for (let again = 0; again <= returned.size;) {
    const { Messages: received = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: AT_ONCE,
        VisibilityTimeout: VISIBILITY_SECONDS,
        WaitTimeSeconds: 1,
      }),
    )
    if (received.length === 0) return
    for (const { MessageId: id = '', Body: body, ReceiptHandle: receipt } of received) {
      again = returned.has(id) ? again + 1 : 0
      if (again > 0) continue
      returned.add(id)
      const { tenant, session, messageId } = Body.parse(JSON.parse(body ?? ''))
      yield {
        changes: [{ key: { tenant, session }, messageId }],
        async forget() {
          await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: receipt }))
        },
      }
    }
  }
}
