import { SendMessageCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'
import type { DeadLetterSink } from '../../ports/history-writer.ts'

/** Characters of an error that are kept: a message holds 256 KB. */
const ERROR_CHARACTERS = 2_000

/** Keeps what can never be indexed in a queue of its own: its keys and the error, never its contents. */
export function createSqsDeadLetterSink({ client, queueUrl }: { client: SQSClient; queueUrl: string }): DeadLetterSink {
  return {
    async send({ tenant, session, messageId, part, error }) {
      const body = { tenant, session, messageId, part, error: error.slice(0, ERROR_CHARACTERS) }
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(body) }))
    },
  }
}
