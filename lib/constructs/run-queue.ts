import { Duration, Validations } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { allow } from './allow.ts'
import { grantKeyUse } from './key-use.ts'

export interface RunQueueProps {
  /** Maximum time that a worker spends on a hint. During this time, the hint is hidden from other workers. */
  readonly workerTimeout: Duration
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
}

/**
 * Time that is added to a worker's maximum time. The sum is the time for which a hint is hidden. Lambda needs the added
 * time, because it receives a hint before it starts the function.
 */
const VISIBILITY_MARGIN = Duration.minutes(1)
/**
 * Number of receives after which a hint is dead-lettered. Each receive hides the hint for the maximum time of a worker, so five
 * receives take 80 minutes. AWS recommends at least 5, because a receive also counts if Lambda then throttles the
 * function. The sweeper finds the session in any case.
 */
const MAX_RECEIVES = 5

/**
 * Three queues: hints for the workers, dead-lettered hints, and dead-lettered rows that can never be indexed.
 */
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
    // Dead letters are kept for the maximum of 14 days, so that a person can examine them.
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

  /** Grants sending hints. */
  grantHints(grantee: IGrantable): void {
    this.#allow(grantee, this.queue, ['sqs:SendMessage'])
  }

  /** Grants receiving hints, which Lambda does on behalf of the function. */
  grantWork(grantee: IGrantable): void {
    this.#allow(grantee, this.queue, ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'])
  }

  /** Grants sending to the dead-letter queue of rows that can never be indexed. */
  grantDeadLetters(grantee: IGrantable): void {
    this.#allow(grantee, this.indexDeadLetters, ['sqs:SendMessage'])
  }

  #allow(grantee: IGrantable, queue: IQueue, actions: string[]): void {
    allow(grantee, { actions, resources: [queue.queueArn] })
    grantKeyUse(this.#key, grantee)
  }
}
