/* Evidence, cloud: Keys, status, rebuild and redrive work against the engines. */
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  PurgeQueueCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTableIfAbsent } from '../../functions/adapters/dynamodb/create-table.ts'
import { createDynamoKeyStore } from '../../functions/adapters/dynamodb/key-store.ts'
import { createDynamoLogReader } from '../../functions/adapters/dynamodb/log/messages/log-reader.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { createS3OutputStore } from '../../functions/adapters/s3/output-store.ts'
import { nextId } from '../../functions/domain/ids.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { hashKeySecret } from '../../functions/access/key-secret.ts'
import { indexContents } from '../history/index-contents.ts'
import { writeCorpus } from '../history/index-corpus.ts'
import { dynamodbClient, s3Client, sqsClient } from '../engines/clients.ts'
import { withEngines } from '../engines/with-engines.ts'
import { startControlPlane } from './control-plane.ts'
import type { ControlPlane } from './control-plane.ts'
import { runOperation } from './operation-command.ts'
import { REGION } from '../engines/region.ts'

const SLOW = 120_000

withEngines(['dynamodb', 's3', 'sqs', 'opensearch'], (endpoints) => {
  describe('commands for a deployed environment', { timeout: SLOW }, () => {
    const id = crypto.randomUUID().slice(0, 8)
    const [table, index, outputs, failures] = [`ops-${id}`, `ops-${id}`, `ops-outputs-${id}`, `ops-failures-${id}`]
    const dynamodb = dynamodbClient(endpoints.dynamodb)
    const s3 = s3Client(endpoints.s3)
    const sqs = sqsClient(endpoints.sqs)
    const clock = createSystemClock()
    const rows = {
      client: dynamodb,
      tableName: table,
      outputs: createS3OutputStore({ client: s3, bucket: outputs }),
      clock,
    }
    let control: ControlPlane
    let queues: { readonly run: string; readonly dead: string; readonly indexDeadLetters: string }

    beforeAll(async () => {
      control = await startControlPlane()
      await createTableIfAbsent(dynamodb, table)
      for (const Bucket of [outputs, failures]) await s3.send(new CreateBucketCommand({ Bucket }))
      queues = await makeQueues()
      control.stacks.set('tooltrail-dev-data', { TableName: table, BucketName: outputs, StreamArn: 'arn' })
      control.stacks.set('tooltrail-dev-search', {
        SearchEndpoint: endpoints.opensearch,
        SearchKind: 'domain',
        SearchName: 'history',
      })
      control.stacks.set('tooltrail-dev-app', {
        ApiUrl: 'https://api.test/live',
        RunQueueUrl: queues.run,
        RunDeadLetterUrl: queues.dead,
        PoisonQueueUrl: queues.indexDeadLetters,
        StreamFailuresBucket: failures,
        ...Object.fromEntries(['Api', 'Worker', 'Indexer', 'Sweeper'].map((name) => [`${name}LogGroup`, `/${name}`])),
      })
      control.domains.set('history', { ClusterHealth: 'Green', DataNodeCount: '2', TotalUnAssignedShards: '0' })
      await writeCorpus(rows, 40)
    }, SLOW)
    afterAll(async () => {
      await fetch(`${endpoints.opensearch}/${index}*`, { method: 'DELETE' })
      for (const client of [dynamodb, s3, sqs]) client.destroy()
      await control.close()
    })

    async function makeQueues() {
      const make = async (name: string, Attributes: Record<string, string> = {}): Promise<string> =>
        (await sqs.send(new CreateQueueCommand({ QueueName: `${name}-${id}`, Attributes }))).QueueUrl ?? ''
      const dead = await make('dead')
      const described = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: dead, AttributeNames: ['QueueArn'] }))
      const RedrivePolicy = JSON.stringify({
        deadLetterTargetArn: described.Attributes?.['QueueArn'],
        maxReceiveCount: 5,
      })
      return { dead, indexDeadLetters: await make('poison'), run: await make('run', { RedrivePolicy }) }
    }

    const run = (command: string, ...words: readonly string[]) =>
      runOperation(command, words, { control: control.endpoint, engines: endpoints, index })

    const documents = async (): Promise<string> =>
      JSON.stringify([...(await indexContents(endpoints.opensearch, index)).values()])

    test('the error for an environment that is not deployed names the command that deploys it', async () => {
      const { code, error } = await run('status', '--env', 'staging')
      expect({ code, error }).toEqual({
        code: 1,
        error: `there is no stack tooltrail-staging-data in ${REGION}. Deploy it with: npx cdk deploy -c env=staging --all\n`,
      })
    })

    test('`keys` creates the first key of a deployment', async () => {
      const { code, out } = await run('keys', '--env', 'dev', 'create', '--tenant', 'acme', '--scope', 'admin')
      const found = await createDynamoKeyStore(rows).find(hashKeySecret(out.split('\n')[0] ?? ''))
      expect({ code, found }).toMatchObject({ code: 0, found: { tenant: 'acme', scopes: ['admin'] } })
      expect((await run('keys', '--env=dev', 'list')).out).toContain('acme')
    })

    test('`status` reports an empty index, `rebuild` fills it, and documents that cannot be indexed are listed', async () => {
      const before = await run('status', '--env', 'dev')
      expect(before.out).toContain('! The index is empty: npx tooltrail rebuild --env dev')
      expect(before.code).toBe(2)
      expect(await run('rebuild', '--env', 'dev')).toMatchObject({
        code: 0,
        out: 'indexed 40 messages; searches now use the new index\n',
      })
      expect(await documents()).toContain('entry 39 speaks')
      const after = await run('status', '--env', 'dev')
      expect(after.out).toMatch(/^! Not indexed +1 messages, 0 batches$/m)
      expect(after.out).toMatch(/^ {2}Documents +\d\d in the index, at most \d\d in the log/m)
      expect(after.out).toMatch(/^ {2}Search +Green, data nodes: 2, unassigned shards: 0$/m)
    })

    test('`redrive` indexes dead letters from their current rows and retains those that fail again', async () => {
      const { sessions } = await writeCorpus(rows, 3, 60)
      const stale = (await Promise.all(sessions.map(staleRecords))).flat()
      await s3.send(
        new PutObjectCommand({
          Bucket: failures,
          Key: 'aws/lambda/1/shardId-1/2026/batch',
          Body: JSON.stringify({ version: '1.0', payload: JSON.stringify({ Records: stale }) }),
        }),
      )
      await sqs.send(
        new SendMessageCommand({ QueueUrl: queues.dead, MessageBody: '{"tenant":"acme","session":"s-0"}' }),
      )
      const { code, out } = await run('redrive', '--env', 'dev')
      expect(out).toMatch(
        /^brought 4 messages up to date, 1 failed again, sent 1 dead letters back\n {2}[0-9A-Z]{26}: /,
      )
      expect(code).toBe(2)
      expect(await documents()).toContain('entry 60 speaks')
      expect(await documents()).not.toContain('stale')
      expect((await s3.send(new ListObjectsV2Command({ Bucket: failures }))).KeyCount).toBe(0)
      await expect.poll(() => depth(queues.run)).toBe(1)
    })

    test('`status` of a healthy deployment fits one screen and suggests no action', async () => {
      await sqs.send(new PurgeQueueCommand({ QueueUrl: queues.indexDeadLetters }))
      control.metrics.set('IndexLag tooltrail dev', [840, 1_210])
      control.metrics.set(`ApproximateAgeOfOldestMessage run-${id}`, [3])
      const { code, out } = await run('status', '--env', 'dev')
      expect(out).toMatch(/^ {2}Index lag +1,210 ms at most in 15 minutes$/m)
      expect(out).toMatch(/^ {2}Run queue +1 waiting, 0 being handled, oldest 3 s$/m)
      expect(out).toMatch(/^ {2}Errors +none in the last hour$/m)
      expect(out.endsWith('\nNothing needs attention.\n')).toBe(true)
      expect(out.split('\n').length).toBeLessThan(24)
      expect(code).toBe(0)
    })

    test('`status` shows the newest errors, whatever characters they contain', async () => {
      const timestamp = Date.now()
      control.logs.set('/Worker', [
        { timestamp, message: '{"level":"ERROR","message":"serving a session failed"}\u001b[2J' },
      ])
      const { code, out } = await run('status', '--env', 'dev')
      expect(out).toContain(`! Error            ${new Date(timestamp).toISOString()} /Worker: {"level":"ERROR"`)
      expect(out).not.toContain('\u001b')
      expect(code).toBe(2)
    })

    /** Stream records with the earlier state of each message, and one for a removed message. */
    async function staleRecords(key: SessionKey): Promise<object[]> {
      const { messages } = await createDynamoLogReader(rows).messages(key, { order: 'ascending', limit: 100 })
      const pk = { S: `S#${key.tenant}#${key.session}` }
      const gone = { pk, sk: { S: nextId(undefined, 1) }, role: { S: 'user' }, rev: { N: '1' }, documents: { N: '1' } }
      return [
        ...messages.map(({ id: sk, role }) => ({
          eventName: 'INSERT',
          dynamodb: { NewImage: { pk, sk: { S: sk }, role: { S: role }, rev: { N: '0' }, text: { S: 'stale' } } },
        })),
        { eventName: 'REMOVE', dynamodb: { OldImage: gone } },
      ]
    }

    async function depth(url: string): Promise<number> {
      const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }))
      return Number(Attributes?.['ApproximateNumberOfMessages'])
    }
  })
})
