import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateQueueCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { Context, SQSEvent } from 'aws-lambda'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { encodeHint } from '../../functions/adapters/sqs/queue-messages.ts'
import type { Hint } from '../../functions/ports/run-queue.ts'
import { createBucketIfAbsent } from '../../functions/adapters/s3/create-bucket.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { createS3OutputStore } from '../../functions/adapters/s3/output-store.ts'
import { createAwsStores } from '../../functions/runtime/aws/stores.ts'
import { createTestTable } from '../adapters/dynamodb/engine.ts'
import { dynamodbClient, s3Client, sqsClient } from '../engines/clients.ts'
import { withEngines } from '../engines/with-engines.ts'
import { REGION } from '../engines/region.ts'

withEngines(['dynamodb', 's3', 'sqs'], ({ dynamodb, s3, sqs }) => {
  const clients = { dynamodb: dynamodbClient(dynamodb), s3: s3Client(s3), sqs: sqsClient(sqs) }
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-functions-'))
  const secrets = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end('{"SecretString":"{}"}')
  })
  const context = { getRemainingTimeInMillis: () => 60_000, awsRequestId: 'request-1' } as Context
  let queueUrl: string
  let stores: ReturnType<typeof createAwsStores>['ports']

  beforeAll(async () => {
    secrets.listen(0, '127.0.0.1')
    await once(secrets, 'listening')
    const table = await createTestTable(clients.dynamodb)
    const bucket = `functions-${crypto.randomUUID()}`
    await createBucketIfAbsent(clients.s3, bucket)
    const failures = `failures-${crypto.randomUUID()}`
    await createBucketIfAbsent(clients.s3, failures)
    queueUrl =
      (await clients.sqs.send(new CreateQueueCommand({ QueueName: `f-${crypto.randomUUID()}` }))).QueueUrl ?? ''
    const outputs = createS3OutputStore({ client: clients.s3, bucket })
    stores = createAwsStores({ dynamodb: clients.dynamodb, outputs, table, clock: createSystemClock() }).ports
    writeFileSync(join(folder, 'agents.json'), '{"agents":{}}')
    const variables = {
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'localsecret',
      AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
      AWS_ENDPOINT_URL_S3: s3,
      AWS_ENDPOINT_URL_SQS: sqs,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${(secrets.address() as AddressInfo).port}`,
      LAMBDA_TASK_ROOT: folder,
      TOOLTRAIL_ENVIRONMENT: 'test',
      TOOLTRAIL_TABLE: table,
      TOOLTRAIL_BUCKET: bucket,
      TOOLTRAIL_FAILURES_BUCKET: failures,
      TOOLTRAIL_QUEUE_URL: queueUrl,
      TOOLTRAIL_AGENTS: './agents.json',
      TOOLTRAIL_MODEL_SECRET: 'models',
      TOOLTRAIL_STOP_MARGIN_SECONDS: '10',
      OPENSEARCH_ENDPOINT: 'http://127.0.0.1:9',
      MODEL: 'demo/demo',
      LOG_LEVEL: 'silent',
      POWERTOOLS_METRICS_DISABLED: 'true',
    }
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    for (const client of Object.values(clients)) client.destroy()
    secrets.closeAllConnections()
    secrets.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Creates a session with a run that waits for a holder. */
  async function queued(session: string): Promise<{ key: { tenant: string; session: string }; runId: string }> {
    const key = { tenant: 'default', session }
    await stores.sessions.create({ ...key, agent: 'default', metadata: {} })
    const input = { parts: [{ type: 'text', text: 'what time is it in Europe/Berlin?' } as const] }
    const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [] } as const
    return { key, runId: (await stores.inbox.enqueue(key, run)).runId }
  }

  const eventOf = (bodies: readonly string[]): SQSEvent => ({
    Records: bodies.map(
      (body, at) => ({ messageId: `message-${at}`, body, eventSource: 'aws:sqs' }) as SQSEvent['Records'][number],
    ),
  })

  async function hints(): Promise<Hint[]> {
    const command = new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 })
    return ((await clients.sqs.send(command)).Messages ?? []).map(({ Body }) => JSON.parse(Body ?? '') as Hint)
  }

  test('the worker executes the hinted run before it returns, and rejects only invalid hints', async () => {
    const { handler } = await import('../../functions/handlers/worker.ts')
    const { key, runId } = await queued('worked')
    const outcome = await handler(eventOf(['not a hint', encodeHint(key)]), context)
    expect(outcome).toEqual({ batchItemFailures: [{ itemIdentifier: 'message-0' }] })
    expect(await stores.reader.run(key, runId)).toMatchObject({ status: 'completed', rounds: 2 })
  })

  test('a hint for a missing session succeeds', async () => {
    const { handler } = await import('../../functions/handlers/worker.ts')
    const absent = encodeHint({ tenant: 'default', session: 'nobody' })
    expect(await handler(eventOf([absent]), context)).toEqual({ batchItemFailures: [] })
  })

  test('one invocation of the sweeper sends one hint for due work and continues a deletion', async () => {
    const { handler } = await import('../../functions/handlers/sweeper.ts')
    const { key } = await queued('lost')
    const gone = await queued('gone')
    await stores.deletion.tombstone(gone.key)
    // During this time, only the process that began a deletion may continue it.
    await sleep(2_000)
    await handler({}, context)
    expect(await hints()).toEqual([key])
    expect(await stores.deletion.state(gone.key)).toMatchObject({ removed: true, runs: 1 })
  })
})
