import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs'
import type { Message, SQSClient } from '@aws-sdk/client-sqs'
import type { Clock } from '../../ports/clock.ts'
import type { Hint, RunQueue } from '../../ports/run-queue.ts'
import { decodeHint, encodeHint } from './queue-messages.ts'

export interface SqsDependencies {
  readonly client: SQSClient
  readonly queueUrl: string
  readonly clock: Clock
  /** Receives errors that will be retried: a failed poll, or a hint that could not be handled. */
  readonly report: (error: unknown) => void
}

type Handle = (hint: Hint) => Promise<void>

/** Maximum wait of a poll in SQS. */
const POLL_SECONDS = 20
/** Maximum number of messages per poll in SQS. */
const BATCH = 10
/** Number of hints that a process handles concurrently. */
const HANDLED_AT_ONCE = 20
/** Delay before a failed hint is delivered again, doubled each time. */
const FIRST_RETRY_SECONDS = 1
const MAX_RETRY_SECONDS = 300
const POLL_RETRY_MS = 1_000

/**
 * Creates a queue of hints on a standard SQS queue. A handled hint is deleted. A failed one is delivered again after a
 * growing delay, until the queue's redrive policy moves it to the dead letters. If a handler takes longer than the
 * queue's visibility timeout, another process receives the hint too. That process then finds that the first one holds
 * the lease.
 */
export function createSqsRunQueue(dependencies: SqsDependencies): RunQueue {
  const { client, queueUrl } = dependencies
  return {
    async send(hint) {
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: encodeHint(hint) }))
    },
    consume(handle) {
      const stopping = new AbortController()
      const busy = new Set<Promise<void>>()
      const polling = poll(dependencies, handle, busy, stopping.signal)
      return {
        async stop() {
          stopping.abort()
          await polling
          await Promise.all(busy)
        },
      }
    },
  }
}

/** Polls until `signal` aborts; never rejects. */
async function poll(
  dependencies: SqsDependencies,
  handle: Handle,
  busy: Set<Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, queueUrl, report } = dependencies
  while (!signal.aborted) {
    try {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl,
          MaxNumberOfMessages: Math.min(BATCH, HANDLED_AT_ONCE - busy.size),
          WaitTimeSeconds: POLL_SECONDS,
          MessageSystemAttributeNames: ['ApproximateReceiveCount'],
        }),
        { abortSignal: signal },
      )
      for (const message of Messages) {
        const task = consumeOne(dependencies, handle, message).catch(report)
        busy.add(task)
        void task.finally(() => busy.delete(task))
      }
      if (busy.size >= HANDLED_AT_ONCE) await Promise.race(busy)
    } catch (error) {
      if (signal.aborted) return
      report(error)
      await clock.sleep(POLL_RETRY_MS, signal).catch(() => undefined)
    }
  }
}

/** Handles one message: deletes it, or makes it visible again after a delay. */
async function consumeOne(
  { client, queueUrl, report }: SqsDependencies,
  handle: Handle,
  message: Message,
): Promise<void> {
  const receipt = { QueueUrl: queueUrl, ReceiptHandle: message.ReceiptHandle }
  try {
    await handle(decodeHint(message.Body ?? ''))
  } catch (error) {
    report(error)
    const receives = Number(message.Attributes?.ApproximateReceiveCount ?? 1)
    const VisibilityTimeout = Math.min(FIRST_RETRY_SECONDS * 2 ** (receives - 1), MAX_RETRY_SECONDS)
    await client.send(new ChangeMessageVisibilityCommand({ ...receipt, VisibilityTimeout }))
    return
  }
  await client.send(new DeleteMessageCommand(receipt))
}
