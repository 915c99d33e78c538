import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'
import * as z from 'zod'
import type { FailedBatches } from '../../ports/failed-indexing.ts'

/**
 * Seconds for which a received message is hidden from other consumers. If it is not deleted by then, it becomes visible
 * again.
 */
const VISIBILITY_SECONDS = 300
const AT_ONCE = 10

const Body = z.object({ tenant: z.string(), session: z.string(), messageId: z.string() })

/**
 * Yields the messages that could not be indexed, one per batch. Ends when the queue returns only messages that were
 * yielded before.
 */
export async function* deadLetterMessages({
  client,
  queueUrl,
}: {
  readonly client: SQSClient
  readonly queueUrl: string
}): FailedBatches {
  const returned = new Set<string>()
  // A message that is not deleted becomes visible again after a while. So this loop may receive it several times.
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
