import { SendMessageCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'
import type { SessionKey } from '../../domain/session.ts'
import { encodeHint } from './hint.ts'

/** The longest that SQS keeps a message back, in seconds. */
const MAX_DELAY_SECONDS = 900

/** Returns what sends a hint that nobody gets before so many milliseconds are over, in whole seconds. */
export function createLateHints({
  client,
  queueUrl,
}: {
  readonly client: Pick<SQSClient, 'send'>
  readonly queueUrl: string
}): (key: SessionKey, milliseconds: number) => Promise<void> {
  return async ({ tenant, session }, milliseconds) => {
    const DelaySeconds = Math.min(MAX_DELAY_SECONDS, Math.ceil(milliseconds / 1_000))
    const MessageBody = encodeHint({ tenant, session })
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody, DelaySeconds }))
  }
}
