import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs'
import { isSessionId, isTenant } from '../../domain/ids.ts'
import type { Hint } from '../../ports/run-queue.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { DeadLetterSink } from '../../ports/history-writer.ts'

/** Encodes a hint as a message body. */
export const encodeHint = ({ tenant, session, hops }: Hint): string => JSON.stringify({ tenant, session, hops })

/** Decodes the hint of a message body. Throws for any other body. */
export function decodeHint(body: string): Hint {
  const value: unknown = JSON.parse(body)
  if (typeof value === 'object' && value !== null && 'tenant' in value && 'session' in value) {
    const { tenant, session } = value
    const hops = 'hops' in value && isCount(value.hops) ? { hops: value.hops } : {}
    if (typeof tenant === 'string' && typeof session === 'string' && isTenant(tenant) && isSessionId(session))
      return { tenant, session, ...hops }
  }
  throw new TypeError('the message is not a hint with a tenant and a session')
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Maximum delay of a message in SQS. */
const MAX_DELAY_SECONDS = 900

/** Returns a sender of delayed hints. The delay is in ms, rounded up to whole seconds. */
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

/** Maximum characters of an error in a message. A message may have 256 KB. */
const ERROR_CHARACTERS = 2_000

/**
 * Creates a sink for messages that can never be indexed. Its queue gets their keys and the error, never their contents.
 */
export function createSqsDeadLetterSink({ client, queueUrl }: { client: SQSClient; queueUrl: string }): DeadLetterSink {
  return {
    async send({ tenant, session, messageId, part, error }) {
      const body = { tenant, session, messageId, part, error: error.slice(0, ERROR_CHARACTERS) }
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(body) }))
    },
  }
}
