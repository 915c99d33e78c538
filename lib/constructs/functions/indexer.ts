import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib'
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { MetricOptions } from 'aws-cdk-lib/aws-cloudwatch'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { EventSourceMapping, MetricType, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import { allow } from '../allow.ts'
import { grantKeyUse } from '../key-use.ts'
import type { LogTable } from '../log-table.ts'
import type { NodeFunction } from './node-function.ts'

export interface IndexerStreamProps {
  readonly table: LogTable
  readonly indexer: NodeFunction
  /** The target of the stream: the indexer, or an alias of it. */
  readonly target: IFunction
  /**
   * Keeps failed batches when the stack is deleted. Otherwise the bucket must be emptied first.
   * @default true
   */
  readonly retain?: boolean
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
}

/** Time for which failed batches are kept. */
const KEPT = Duration.days(30)

/** Sends the changes of messages to the indexer. A batch that fails repeatedly is sent to a bucket. */
export class IndexerStream extends Construct {
  /** Bucket with one object for each failed batch, including its records. */
  readonly failures: Bucket
  readonly #mapping: EventSourceMapping

  constructor(
    scope: Construct,
    id: string,
    { table, indexer, target, retain = true, encryptionKey }: IndexerStreamProps,
  ) {
    super(scope, id)
    this.failures = new Bucket(this, 'Failures', {
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: encryptionKey === undefined ? BucketEncryption.S3_MANAGED : BucketEncryption.KMS,
      ...(encryptionKey === undefined ? {} : { encryptionKey, bucketKeyEnabled: true }),
      removalPolicy: retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      lifecycleRules: [
        { id: 'looked-into-by-then', expiration: KEPT, abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    })
    Validations.of(this.failures).acknowledge({
      id: 'AwsSolutions-S1',
      reason: 'Lambda writes here and `npm run redrive` reads: CloudTrail records both. Objects live for 30 days.',
    })
    table.grantStream(indexer)
    this.#grantFailures(indexer, encryptionKey)
    this.#mapping = new EventSourceMapping(this, 'Mapping', {
      target,
      eventSourceArn: table.streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(0),
      filters: FILTERS,
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      // With many retries, an index has hours to recover if it sleeps, is full or is being replaced. Lambda does not
      // document its waits between retries. Without any wait, the retries take half an hour, because an attempt takes
      // about two seconds.
      retryAttempts: 1_000,
      maxRecordAge: Duration.hours(6),
      metricsConfig: { metrics: [MetricType.EVENT_COUNT] },
      onFailure: { bind: () => ({ destination: this.failures.bucketArn }) },
    })
    // When Lambda creates the mapping, it checks that the role may read the stream.
    this.#mapping.node.addDependency(indexer.role)
  }

  /**
   * Counts the records that Lambda gave up on: records in the bucket for failures, and records that the bucket
   * rejected.
   */
  metricGivenUp({ period, ...options }: MetricOptions & { readonly period: Duration }): MathExpression {
    const of = (metricName: string): Metric =>
      new Metric({
        ...options,
        period,
        namespace: 'AWS/Lambda',
        metricName,
        dimensionsMap: { EventSourceMappingUUID: this.#mapping.eventSourceMappingId },
      })
    return new MathExpression({
      period,
      label: 'Records that were given up',
      expression: 'SUM(FILL(METRICS(), 0))',
      usingMetrics: { kept: of('OnFailureDestinationDeliveredEventCount'), dropped: of('DroppedEventCount') },
    })
  }

  /** Grants removing a deleted session's records from failed batches. */
  grantForgetting(grantee: IGrantable): void {
    allow(grantee, {
      actions: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject'],
      resources: [this.failures.arnForObjects('*')],
      because: 'Lambda names the objects of failed batches itself, and any may hold records of the session.',
    })
    allow(grantee, { actions: ['s3:ListBucket'], resources: [this.failures.bucketArn] })
    grantKeyUse(this.failures.encryptionKey, grantee)
  }

  #grantFailures(indexer: NodeFunction, encryptionKey: IKey | undefined): void {
    allow(indexer, {
      actions: ['s3:PutObject'],
      resources: [this.failures.arnForObjects('*')],
      because: 'Lambda names the objects of failed batches itself, by mapping, shard and time.',
    })
    allow(indexer, { actions: ['s3:ListBucket'], resources: [this.failures.bucketArn] })
    grantKeyUse(encryptionKey, indexer)
  }
}

const pattern = (filter: object): { pattern: string } => ({ pattern: JSON.stringify(filter) })

const FILTERS = [
  // Messages. The sort key of a message is a ULID, which begins with 0 until the year 3084. Sort keys of all other
  // items begin with #.
  pattern({ dynamodb: { Keys: { sk: { S: [{ prefix: '0' }] } } } }),
  // Expired sessions. Matches items that DynamoDB removed, but no items that our deletions remove.
  pattern({
    eventName: ['REMOVE'],
    dynamodb: { Keys: { sk: { S: ['#EXPIRY'] } } },
    userIdentity: { type: ['Service'], principalId: ['dynamodb.amazonaws.com'] },
  }),
]
