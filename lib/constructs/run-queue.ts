import { Duration, Validations } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { allow } from './allow.ts'
import { grantKeyUse } from './key-use.ts'

export interface RunQueueProps {
  /** How long a worker may take for a hint; nobody else gets it meanwhile. */
  readonly workerTimeout: Duration
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
}

/** Beyond the worker's own time: Lambda takes a hint out of the queue before it starts the function. */
const VISIBILITY_MARGIN = Duration.minutes(1)
/**
 * Receives after which a hint becomes a dead letter. Each receive hides it for as long as a worker may take, so this takes 80 minutes.
 * AWS recommends at least 5, because Lambda receives hints that it then throttles. The sweeper finds the session in any case.
 */
const MAX_RECEIVES = 5

/** Hints for the workers, hints that no worker could handle, and rows that can never be indexed. */
export class RunQueue extends Construct {
  readonly queue: Queue
  readonly deadLetters: Queue
  readonly indexDeadLetters: Queue
  readonly #key: IKey | undefined

  constructor(scope: Construct, id: string, { workerTimeout, encryptionKey }: RunQueueProps) {
    super(scope, id)
    this.#key = encryptionKey
    const houseRules = {
      enforceSSL: true,
      ...(encryptionKey === undefined
        ? { encryption: QueueEncryption.SQS_MANAGED }
        : { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }),
    }
    // 14 days, the maximum: time to look at what nobody could handle.
    const kept = { ...houseRules, retentionPeriod: Duration.days(14) }
    this.deadLetters = new Queue(this, 'DeadLetters', kept)
    this.indexDeadLetters = new Queue(this, 'Poison', kept)
    this.queue = new Queue(this, 'Queue', {
      ...houseRules,
      visibilityTimeout: workerTimeout.plus(VISIBILITY_MARGIN),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: MAX_RECEIVES },
    })
    Validations.of(this.indexDeadLetters).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is a last resort itself: only people and redrive receive from it, so nothing fails there.',
    })
  }

  /** To send hints. */
  grantHints(grantee: IGrantable): void {
    this.#allow(grantee, this.queue, ['sqs:SendMessage'])
  }

  /** To receive hints through Lambda. */
  grantWork(grantee: IGrantable): void {
    this.#allow(grantee, this.queue, ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'])
  }

  /** To put aside rows that can never be indexed. */
  grantDeadLetters(grantee: IGrantable): void {
    this.#allow(grantee, this.indexDeadLetters, ['sqs:SendMessage'])
  }

  #allow(grantee: IGrantable, queue: IQueue, actions: string[]): void {
    allow(grantee, { actions, resources: [queue.queueArn] })
    grantKeyUse(this.#key, grantee)
  }
}
