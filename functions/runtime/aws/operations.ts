import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { createDynamoKeyStore } from '../../adapters/dynamodb/key-store.ts'
import { createDynamoMessageRows } from '../../adapters/dynamodb/stream/message-rows.ts'
import { createDynamoRowRecords } from '../../adapters/dynamodb/stream/row-records.ts'
import type { StreamRecord } from '../../adapters/dynamodb/stream/row-records.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { createOpenSearchClient } from '../../adapters/opensearch/client.ts'
import { createOpenSearchHistoryBuilder } from '../../adapters/opensearch/history-builder.ts'
import { createOpenSearchHistoryWriter } from '../../adapters/opensearch/history-writer.ts'
import { failedRecords } from '../../adapters/s3/failed-batches.ts'
import { createS3OutputStore } from '../../adapters/s3/output-store.ts'
import { deadLetterMessages } from '../../adapters/sqs/dead-letters.ts'
import { createSqsDeadLetterSink } from '../../adapters/sqs/queue-messages.ts'
import { resendDeadLetters } from '../../adapters/sqs/queue-depth.ts'
import { rebuildIndex } from '../../history/rebuild.ts'
import { redrive } from '../../history/redrive.ts'
import type { Redriven } from '../../history/redrive.ts'
import type { FailedBatches, FailedChange } from '../../ports/failed-indexing.ts'
import type { RowRecords } from '../../ports/message-rows.ts'
import { openDynamo, openSqs, signingOf } from './clients.ts'
import { openS3 } from './outputs.ts'
import { createAwsStores } from './stores.ts'
import type { OperationSettings } from '../settings/config.ts'
import { readDeployment } from './deployment.ts'

/** Operations on a deployed environment that people run on their own machine, with their own credentials. */
export type Operations = Awaited<ReturnType<typeof openOperations>>

/** Finds an environment by its stacks. Rejects with `SettingsError` if it is not deployed. */
export async function openOperations(environment: string, { region, index, endpoints }: OperationSettings) {
  const inRegion = region === undefined ? {} : { region }
  const cloudformation = new CloudFormationClient(inRegion)
  const deployment = await readDeployment(cloudformation, environment)
  const settings = { region: await cloudformation.config.region(), endpoints }
  const clock = createSystemClock()
  const dynamodb = openDynamo(settings)
  const s3 = openS3(settings)
  const sqs = openSqs(settings)
  const { endpoint } = deployment.search
  const signing = signingOf(endpoint, settings.region, () => dynamodb.config.credentials())
  const opensearch = createOpenSearchClient({ endpoint, ...signing })
  const { table, bucket } = deployment
  const { ports, rows: rowDependencies } = createAwsStores({
    dynamodb,
    outputs: createS3OutputStore({ client: s3, bucket }),
    table,
    clock,
  })
  const rows = createDynamoMessageRows(rowDependencies)
  const indexing = { sessions: ports.sessions, reader: ports.reader, outputs: ports.outputs, rows }
  const search = { client: opensearch, alias: index, copies: deployment.search.copies, clock }
  return {
    deployment,
    region: settings.region,
    clients: { dynamodb, s3, sqs, opensearch },
    index,
    clock,
    keys: createDynamoKeyStore(rowDependencies),
    async rebuildHistory(): Promise<{ messages: number }> {
      const indexDeadLetters = createSqsDeadLetterSink({ client: sqs, queueUrl: deployment.indexDeadLetterUrl })
      const builder = createOpenSearchHistoryBuilder({ ...search, indexDeadLetters })
      return rebuildIndex({ ...indexing, indexDeadLetters, builder, clock })
    },
    /**
     * Sends dead-lettered hints to the run queue again, which needs no index. Next, indexes the dead-lettered messages
     * and the failed batches again.
     */
    async redrive(): Promise<Redriven & { readonly deadLetters: number }> {
      const deadLetters = await resendDeadLetters(sqs, deployment.deadLetterUrl)
      const records = createDynamoRowRecords({ outputs: ports.outputs })
      const batches = deadLetter(
        deadLetterMessages({ client: sqs, queueUrl: deployment.indexDeadLetterUrl }),
        batchesOf(failedRecords({ client: s3, bucket: deployment.failuresBucket }), records),
      )
      const writer: Parameters<typeof redrive>[0]['writer'] = (indexDeadLetters) =>
        createOpenSearchHistoryWriter({ ...search, indexDeadLetters })
      const redriven = await redrive({ ...indexing, writer }, batches)
      return { ...redriven, deadLetters }
    },
    async close(): Promise<void> {
      for (const client of [cloudformation, dynamodb, s3, sqs]) client.destroy()
      await opensearch.close()
    },
  }
}

async function* deadLetter(...sources: readonly FailedBatches[]): FailedBatches {
  for (const source of sources) yield* source
}

/** Yields the changes in the batches that Lambda gave up on. */
async function* batchesOf(batches: ReturnType<typeof failedRecords>, records: RowRecords<StreamRecord>): FailedBatches {
  for await (const { records: given, forget } of batches) {
    const changes = given.flatMap((record): FailedChange[] => {
      const change = records.change(record as StreamRecord)
      if (change === undefined) return []
      if ('removed' in change) {
        const { key, messageId } = change.removed
        return [{ key, messageId, removed: change.removed }]
      }
      return [{ key: change.stored.key, messageId: change.stored.messageId }]
    })
    yield { changes, forget }
  }
}
