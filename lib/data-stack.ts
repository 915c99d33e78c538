import { CfnOutput, Stack } from 'aws-cdk-lib'
import type { StackProps } from 'aws-cdk-lib'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { LogTable } from './constructs/log-table.ts'
import { OutputBucket } from './constructs/output-bucket.ts'
import type { Environment } from './environments.ts'

/** The stack with the data that must never be lost: the log and the outputs. */
export class DataStack extends Stack {
  readonly table: LogTable
  readonly outputs: OutputBucket

  constructor(
    scope: Construct,
    id: string,
    { environment, ...props }: StackProps & { readonly environment: Environment },
  ) {
    super(scope, id, props)
    const { retain, pointInTimeRecovery, bucketAccessLogs: accessLogs, warmThroughput } = environment
    const { restoredTable, restoredBucket } = environment
    const encryptionKey =
      environment.encryptionKey === undefined ? undefined : Key.fromKeyArn(this, 'Key', environment.encryptionKey)
    this.table = new LogTable(this, 'Log', {
      retain,
      pointInTimeRecovery,
      encryptionKey,
      restored: restoredTable,
      warmThroughput,
    })
    this.outputs = new OutputBucket(this, 'Outputs', { retain, accessLogs, encryptionKey, restored: restoredBucket })
    new CfnOutput(this, 'TableName', { value: this.table.table.tableName })
    new CfnOutput(this, 'StreamArn', { value: this.table.streamArn })
    new CfnOutput(this, 'BucketName', { value: this.outputs.bucket.bucketName })
  }
}
