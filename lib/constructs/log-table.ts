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
   * Keeps the table when the stack is deleted, and protects it against deletion.
   * @default true
   */
  readonly retain?: boolean
  /**
   * Continuous backups for 35 days.
   * @default true
   */
  readonly pointInTimeRecovery?: boolean
  /**
   * Initial throughput of the table and each of its indexes, per second.
   * @default - 12,000 reads and 4,000 writes
   */
  readonly warmThroughput?: { readonly reads: number; readonly writes: number } | undefined
  /** @default - a key of AWS, without cost */
  readonly encryptionKey?: IKey | undefined
  /**
   * A table that was restored from a backup of this table, with a stream of new and old images. It is used instead of
   * the table that the construct creates, which remains unchanged.
   * @default - the table that the construct creates
   */
  readonly restored?: RestoredTable | undefined
}

export interface RestoredTable {
  readonly name: string
  /** ARN of the table's stream. */
  readonly stream: string
}

/**
 * Partitions of API keys: one for each hash of a secret, and one with the list of keys
 * (`functions/adapters/dynamodb/key-store.ts`).
 */
const KEY_PARTITIONS = ['K#*', 'KEYS']

const GROUP_INDEX = 'by_group'
const OWNER_INDEX = 'by_owner'
const DUE_INDEX = 'by_due'

/** An atomic write needs the rights of the single writes in it. There is no separate right `TransactWriteItems`. */
const CHANGES = ['dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:ConditionCheckItem']
const READS = ['dynamodb:BatchGetItem', 'dynamodb:Query']

/**
 * The only table. It has the logs of sessions, their headers, runs and API keys
 * (`functions/adapters/dynamodb/create-table.ts`).
 */
export class LogTable extends Construct {
  /** The table in use. */
  readonly table: Table | ITable
  /** ARN of the table's stream. */
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
    // All indexes are sparse: an index contains only items with both of its attributes.
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

  /** Grants executing runs: reading and extending logs. */
  grantRunLog(grantee: IGrantable): void {
    allow(grantee, { actions: [...READS, ...CHANGES, 'dynamodb:PutItem'], resources: [this.table.tableArn] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /**
   * Grants queries for the sessions of a tenant or an owner, or with given metadata. Also grants queries for the
   * unfinished runs of an API key.
   */
  grantListing(grantee: IGrantable): void {
    allow(grantee, { actions: ['dynamodb:Query'], resources: [this.#index(GROUP_INDEX), this.#index(OWNER_INDEX)] })
  }

  /**
   * Grants sweeping: finding due sessions, removing deleted sessions, and adding sessions of earlier versions to the
   * lists.
   */
  grantSweep(grantee: IGrantable): void {
    allow(grantee, { actions: [...READS, ...CHANGES, 'dynamodb:PutItem'], resources: [this.table.tableArn] })
    allow(grantee, { actions: ['dynamodb:Query'], resources: [this.#index(DUE_INDEX)] })
    allow(grantee, { actions: ['dynamodb:Scan'], resources: [this.#index(GROUP_INDEX)] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /**
   * Grants reading the rows to which the stream's records refer, and reading the replacements of the rows' sessions.
   * Also grants starting the deletion of expired sessions.
   */
  grantExpiry(grantee: IGrantable): void {
    const actions = [...READS, 'dynamodb:UpdateItem', 'dynamodb:ConditionCheckItem']
    allow(grantee, { actions, resources: [this.table.tableArn] })
    grantKeyUse(this.table.encryptionKey, grantee)
  }

  /**
   * Denies creating, changing and removing API keys, even if other rights of `grantee` would allow these changes. So a
   * compromised function cannot create access for itself. Only people and pipelines manage keys, with `npm run keys`.
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

  /** Grants receiving the table's stream through Lambda. */
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
