import { RemovalPolicy, Validations } from 'aws-cdk-lib'
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb'
import type { ITable } from 'aws-cdk-lib/aws-dynamodb'
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Construct } from 'constructs'
import { allow } from './allow.ts'
import { grantKeyUse } from './key-use.ts'

export interface LogTableProps {
  /**
   * Keeps the table when the stack is deleted, and refuses to delete it.
   * @default true
   */
  readonly retain?: boolean
  /**
   * Continuous backups for 35 days.
   * @default true
   */
  readonly pointInTimeRecovery?: boolean
  /**
   * What the table and each of its indexes take a second from their beginning on.
   * @default - 12,000 reads and 4,000 writes
   */
  readonly warmThroughput?: { readonly reads: number; readonly writes: number } | undefined
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
  /**
   * A table that was restored from a backup of this one, with a stream of new and old images. It is used instead of the table
   * that the construct makes, which stays as it is.
   * @default - the table that the construct makes
   */
  readonly restored?: RestoredTable | undefined
}

export interface RestoredTable {
  readonly name: string
  /** ARN of its stream. */
  readonly stream: string
}

/** Keys by the hash of their secret, and the list of them (`functions/adapters/dynamodb/key-store.ts`). */
const KEY_PARTITIONS = ['K#*', 'KEYS']

const GROUP_INDEX = 'by_group'
const OWNER_INDEX = 'by_owner'
const DUE_INDEX = 'by_due'

/** An atomic write needs the rights of the writes within it; there is no right `TransactWriteItems`. */
const CHANGES = ['dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem']
const READS = ['dynamodb:BatchGetItem', 'dynamodb:Query']

/** The one table: logs of sessions, their headers, runs and API keys (`functions/adapters/dynamodb/create-table.ts`). */
export class LogTable extends Construct {
  /** The table in use. */
  readonly table: Table | ITable
  /** The stream by which the table is read. */
  readonly streamArn: string
  /** Names of its indexes. */
  readonly indexes: readonly string[] = [GROUP_INDEX, OWNER_INDEX, DUE_INDEX]

  constructor(scope: Construct, id: string, props: LogTableProps = {}) {
    super(scope, id)
    const { retain = true, pointInTimeRecovery = true, encryptionKey, restored, warmThroughput: warm } = props
    const warmed =
      warm === undefined ? {} : { warmThroughput: { readUnitsPerSecond: warm.reads, writeUnitsPerSecond: warm.writes } }
    const made = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      ...warmed,
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      timeToLiveAttribute: 'expires_at',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: pointInTimeRecovery },
      deletionProtection: retain,
      removalPolicy: retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      ...(encryptionKey === undefined ? {} : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }),
    })
    // All are sparse: only items with both attributes are in them.
    for (const [indexName, name] of [
      [GROUP_INDEX, 'group'],
      [OWNER_INDEX, 'owner_group'],
    ] as const)
      made.addGlobalSecondaryIndex({
        indexName,
        ...warmed,
        partitionKey: { name, type: AttributeType.STRING },
        sortKey: { name: 'at', type: AttributeType.STRING },
        projectionType: ProjectionType.INCLUDE,
        nonKeyAttributes: ['agent_print', 'active_run', 'queued'],
      })
    made.addGlobalSecondaryIndex({
      indexName: DUE_INDEX,
      ...warmed,
      partitionKey: { name: 'due_shard', type: AttributeType.STRING },
      sortKey: { name: 'due', type: AttributeType.NUMBER },
      projectionType: ProjectionType.KEYS_ONLY,
    })
    this.table = restored === undefined ? made : this.#restored(restored, encryptionKey)
    const { tableStreamArn } = this.table
    if (tableStreamArn === undefined) throw new Error('the table has no stream')
    this.streamArn = tableStreamArn
    if (!pointInTimeRecovery)
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-DDB3',
        reason: 'An environment to try things out: its contents may be lost.',
      })
  }

  /** To take part in runs: reads and extends logs. */
  grantRunLog(grantee: IGrantable): void {
    allow(grantee, { actions: [...READS, ...CHANGES, 'dynamodb:PutItem'], resources: [this.table.tableArn] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /** To list the sessions of a tenant or an owner, also those that a search with metadata names, and the runs of an API key that have not ended. */
  grantListing(grantee: IGrantable): void {
    allow(grantee, { actions: ['dynamodb:Query'], resources: [this.#index(GROUP_INDEX), this.#index(OWNER_INDEX)] })
  }

  /** To find the sessions that are due, to remove deleted ones, and to give those of earlier versions their places in lists. */
  grantSweep(grantee: IGrantable): void {
    allow(grantee, { actions: [...READS, ...CHANGES, 'dynamodb:PutItem'], resources: [this.table.tableArn] })
    allow(grantee, { actions: ['dynamodb:Query'], resources: [this.#index(DUE_INDEX)] })
    allow(grantee, { actions: ['dynamodb:Scan'], resources: [this.#index(GROUP_INDEX)] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /** To read single rows, which the stream's records point at, and to begin the deletion of sessions that expired. */
  grantExpiry(grantee: IGrantable): void {
    const actions = ['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:ConditionCheckItem']
    allow(grantee, { actions, resources: [this.table.tableArn] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /**
   * Whatever else `grantee` is granted, it makes, changes and removes no API key: a function that is taken over lets nobody in.
   * Only people and pipelines may, with `npm run keys`.
   */
  denyKeys({ grantPrincipal }: IGrantable): void {
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'NoApiKeys',
        effect: Effect.DENY,
        actions: ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
        resources: [this.table.tableArn],
        conditions: { 'ForAnyValue:StringLike': { 'dynamodb:LeadingKeys': KEY_PARTITIONS } },
      }),
    )
  }

  /** To be sent the table's stream by Lambda. */
  grantStream(grantee: IGrantable): void {
    allow(grantee, {
      actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
      resources: [this.streamArn],
    })
  }

  #restored({ name, stream }: RestoredTable, encryptionKey: IKey | undefined): ITable {
    return Table.fromTableAttributes(this, 'Restored', {
      tableName: name,
      tableStreamArn: stream,
      ...(encryptionKey === undefined ? {} : { encryptionKey }),
    })
  }

  #index(name: string): string {
    return `${this.table.tableArn}/index/${name}`
  }
}
