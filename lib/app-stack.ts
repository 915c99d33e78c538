import { CfnOutput, Stack } from 'aws-cdk-lib'
import type { StackProps } from 'aws-cdk-lib'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { Tooltrail } from './constructs/tooltrail.ts'
import type { DataStack } from './data-stack.ts'
import type { Environment } from './environments.ts'
import type { SearchStack } from './search-stack.ts'
import { defaultAgentsFile } from './shipped-agents.ts'

export interface AppStackProps extends StackProps {
  readonly environment: Environment
  readonly data: DataStack
  readonly search: SearchStack
}

/**
 * The stack with everything that runs. If it is deleted and deployed again, hints are lost, but the sweeper finds their
 * sessions. The new stack has another secret for the models' keys, and another address of the API.
 */
export class AppStack extends Stack {
  readonly tooltrail: Tooltrail

  constructor(scope: Construct, id: string, { environment, data, search, ...props }: AppStackProps) {
    super(scope, id, props)
    const { name, encryptionKey, ...settings } = environment
    this.tooltrail = new Tooltrail(this, 'Tooltrail', {
      ...settings,
      agentsFile: settings.agentsFile ?? defaultAgentsFile(),
      name: `tooltrail-${name}`,
      environmentName: name,
      table: data.table,
      outputs: data.outputs,
      search: search.search,
      encryptionKey: encryptionKey === undefined ? undefined : Key.fromKeyArn(this, 'Key', encryptionKey),
    })
    const { publicApi, stores, functions, stream } = this.tooltrail
    const outputs = {
      ApiUrl: publicApi.url,
      RunQueueUrl: stores.queue.queue.queueUrl,
      RunDeadLetterUrl: stores.queue.deadLetters.queueUrl,
      PoisonQueueUrl: stores.queue.indexDeadLetters.queueUrl,
      StreamFailuresBucket: stream.failures.bucketName,
      ApiLogGroup: functions.api.logs.logGroupName,
      WorkerLogGroup: functions.worker.logs.logGroupName,
      IndexerLogGroup: functions.indexer.logs.logGroupName,
      SweeperLogGroup: functions.sweeper.logs.logGroupName,
      ModelSecretName: stores.models.secret.secretName,
      IndexerFunctionName: functions.indexer.functionName,
    }
    for (const [output, value] of Object.entries(outputs)) new CfnOutput(this, output, { value })
  }
}
