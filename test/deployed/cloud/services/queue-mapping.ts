import { setTimeout as sleep } from 'node:timers/promises'
import { ChangeMessageVisibilityCommand, DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { Message, SQSClient } from '@aws-sdk/client-sqs'
import { z } from 'zod'
import type { FunctionPool } from './function-pool.ts'
import { REGION } from '../../../engines/region.ts'

/** The properties of a queue's mapping. An unknown property is refused. */
export const QueueMappingProperties = z.strictObject({
  FunctionName: z.string(),
  EventSourceArn: z.string(),
  BatchSize: z.int().default(10),
  MaximumBatchingWindowInSeconds: z.number().default(0),
  FunctionResponseTypes: z.array(z.string()).default([]),
  ScalingConfig: z.object({ MaximumConcurrency: z.int() }).optional(),
  Tags: z.unknown().optional(),
})
type Properties = z.output<typeof QueueMappingProperties>

/** Lambda starts with five pollers. */
const POLLERS = 5
const WAIT_SECONDS = 1
const PAUSE_MS = 200

interface Options {
  readonly properties: Properties
  readonly pool: Pick<FunctionPool, 'invoke'>
  readonly client: SQSClient
  readonly queueUrl: string
  /** Seconds after which a failed message is retried. Default: the queue's visibility timeout. */
  readonly retrySeconds?: number | undefined
}

/**
 * Invokes a function with messages of a queue. Handled messages are deleted; the others reappear after the visibility timeout.
 */
export function startQueueMapping(options: Options): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const count = Math.min(POLLERS, options.properties.ScalingConfig?.MaximumConcurrency ?? POLLERS)
  const pollers = Array.from({ length: count }, () => poll(options, stopping.signal))
  // `stop` reports the error that ended a poller.
  for (const poller of pollers) poller.catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await Promise.all(pollers)
    },
  }
}

async function poll({ properties, pool, client, queueUrl, retrySeconds }: Options, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: Math.min(properties.BatchSize, 10),
        WaitTimeSeconds: WAIT_SECONDS,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
    )
    if (Messages.length === 0) {
      await sleep(PAUSE_MS)
      continue
    }
    const outcome = await pool.invoke({ Records: Messages.map((message) => toLambda(message, properties)) })
    const failed = outcome.ok ? failuresOf(properties, outcome.body) : Messages.map(({ MessageId }) => MessageId)
    for (const { MessageId, ReceiptHandle } of Messages) {
      const message = { QueueUrl: queueUrl, ReceiptHandle }
      if (!failed.includes(MessageId)) await client.send(new DeleteMessageCommand(message))
      else if (retrySeconds !== undefined)
        await client.send(new ChangeMessageVisibilityCommand({ ...message, VisibilityTimeout: retrySeconds }))
    }
  }
}

function failuresOf(properties: Properties, body: Buffer): readonly (string | undefined)[] {
  if (!properties.FunctionResponseTypes.includes('ReportBatchItemFailures')) return []
  const outcome = JSON.parse(body.toString() || 'null') as {
    batchItemFailures?: readonly { itemIdentifier?: string }[]
  } | null
  return (outcome?.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier)
}

function toLambda(message: Message, { EventSourceArn }: Properties): object {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
    name,
    { stringValue: value.StringValue, dataType: value.DataType, stringListValues: [], binaryListValues: [] },
  ])
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes,
    messageAttributes: Object.fromEntries(attributes) as object,
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN: EventSourceArn,
    awsRegion: REGION,
  }
}
