import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { expect, onTestFinished, test } from 'vitest'
import { nextId } from '../../../functions/domain/ids.ts'
import type { RunBody } from '../../e2e/backend/client.ts'
import { s3Client, sqsClient } from '../../engines/clients.ts'
import { startControlPlane } from '../../runtime/control-plane.ts'
import { runOperation } from '../../runtime/operation-command.ts'
import { STREAM_ATTEMPTS } from '../declared-changes.ts'
import { ENVIRONMENT } from '../system.ts'
import type { System } from '../system.ts'
import { hintsOf } from './runs.ts'
import { within } from './within.ts'
import { found, hitsOf, put, said } from './inputs-and-hits.ts'

const APP = `tooltrail-${ENVIRONMENT}-app`
const STACKS = ['data', 'search', 'app'].map((part) => `tooltrail-${ENVIRONMENT}-${part}`)
/** Time limit of attempts that all fail. No promise covers this time. */
const GIVEN_UP_MS = 180_000
/** Number of attempts for a hint, as in the queue's template. */
const HINT_ATTEMPTS = 5
const FORBIDDEN = {
  kind: 'respond',
  status: 400,
  type: 'application/x-amz-json-1.0',
  body: '{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not now"}',
} as const

/** Scenarios of dead letters: storage of failed work, and its retry. */
export function declareDeadLetters(system: () => System): void {
  test('a message with an unreadable text is dead-lettered and blocks no other', async () => {
    const { client, engines, deployment } = system()
    const pattern = await said(system(), 'spoiled', 'a first word: marzipan')
    const id = nextId(pattern['sk']?.S, Date.now())
    await put(system(), { ...pattern, sk: { S: id }, body: { S: '{"role": "user", "parts": [' } })
    // After the unreadable row, each write to its session fails. So another session gets the later word.
    await said(system(), 'behind', 'a later word: nougat')
    await found(system(), 'nougat')
    const look = { QueueUrl: deployment.output(APP, 'PoisonQueueUrl'), WaitTimeSeconds: 5, VisibilityTimeout: 0 }
    const { Messages = [] } = await sqsClient(engines.sqs).send(new ReceiveMessageCommand(look))
    expect(Messages.map(({ Body }) => JSON.parse(Body ?? '') as object)).toStrictEqual([
      { tenant: 'acme', session: 'spoiled', messageId: id, error: expect.stringContaining('SyntaxError') },
    ])
    await client.send('DELETE', '/v1/sessions/spoiled')
  })

  test('a record that can never be indexed is stored completely in the failure bucket; later records are indexed', async () => {
    const { functions } = system()
    const before = functions.Indexer.events.length
    functions.Indexer.disturb((service, { body }) =>
      service === 'opensearch' && body.includes('saffron') ? { kind: 'cut' } : undefined,
    )
    const { pk, sk } = await said(system(), 'unlucky', 'a word that is cut off: saffron')
    await said(system(), 'lucky', 'a word behind: cardamom')
    await found(system(), 'cardamom', GIVEN_UP_MS)
    // The model's answer quotes the word, so the connection of the answer's write is also cut.
    const batches = await within(GIVEN_UP_MS, 'the failed batches', async () => {
      const all = await failedBatches(system())
      return all.length >= 2 && all
    })
    // Lambda halves a failing batch until one record is left.
    expect(batches.map((batch) => batch.length)).toStrictEqual([1, 1])
    expect(batches.flat()).toContainEqual({ pk, sk })
    const attempts = functions.Indexer.events
      .slice(before)
      .filter((event) => JSON.stringify(event).includes(sk?.S ?? ''))
    expect(attempts.length).toBeGreaterThanOrEqual(STREAM_ATTEMPTS)
    functions.Indexer.disturb(() => undefined)
    expect(await hitsOf(system(), 'saffron')).toStrictEqual([])
  })

  test('a hint that no worker can serve is dead-lettered, and its run remains queued', async () => {
    const { client, functions } = system()
    functions.Worker.disturb((service, { body }) =>
      service === 'dynamodb' && body.includes('#unserved') ? FORBIDDEN : undefined,
    )
    onTestFinished(() => functions.Worker.disturb(() => undefined))
    await client.post('/v1/sessions', { id: 'unserved' })
    const path = '/v1/sessions/unserved/messages'
    const run = await client.post<RunBody>(path, { content: 'what time is it' }, { prefer: 'respond-async' })
    await within(GIVEN_UP_MS, 'the dead letter', async () => (await depth(system(), 'RunDeadLetterUrl')) > 0)
    expect(hintsOf(functions.Worker.events, 'unserved')).toHaveLength(HINT_ATTEMPTS)
    expect((await client.get<RunBody>(`/v1/sessions/unserved/runs/${run.id}`)).status).toBe('queued')
  })

  test('redrive recovers all three from the stack outputs alone, and leaves no dead letter', async () => {
    const { client, functions } = system()
    expect(await redrive(system())).toStrictEqual({
      code: 0,
      out: expect.stringMatching(/^brought [3-9] messages up to date, 0 failed again, sent 1 dead letters back\n$/),
      error: '',
    })
    await found(system(), 'saffron')
    await within(GIVEN_UP_MS, 'the end of the run', async () => {
      const { data } = await client.get<{ data: RunBody[] }>('/v1/sessions/unserved/runs')
      return data[0]?.status === 'completed'
    })
    expect(hintsOf(functions.Worker.events, 'unserved')).toHaveLength(HINT_ATTEMPTS + 1)
    expect(await failedBatches(system())).toStrictEqual([])
    for (const queue of ['PoisonQueueUrl', 'RunDeadLetterUrl', 'RunQueueUrl'])
      expect([queue, await depth(system(), queue)]).toStrictEqual([queue, 0])
    expect((await redrive(system())).out).toBe(
      'brought 0 messages up to date, 0 failed again, sent 0 dead letters back\n',
    )
  })
}

/** Runs `npm run redrive -- --env dev`. The command finds all resources by the outputs of the stacks. */
async function redrive({ deployment, engines }: System) {
  const control = await startControlPlane()
  try {
    for (const stack of STACKS) control.stacks.set(stack, deployment.outputs(stack))
    return await runOperation('redrive', ['--env', ENVIRONMENT], { control: control.endpoint, engines })
  } finally {
    await control.close()
  }
}

/** The keys of the records of each dead-lettered batch. */
async function failedBatches({ engines, deployment }: System) {
  const s3 = s3Client(engines.s3)
  const Bucket = deployment.output(APP, 'StreamFailuresBucket')
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }))
  return Promise.all(
    Contents.map(async ({ Key }) => {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
      const { payload } = JSON.parse((await Body?.transformToString()) ?? '') as { payload: string }
      const { Records: records } = JSON.parse(payload) as { Records: { dynamodb: { Keys: object } }[] }
      return records.map(({ dynamodb }) => dynamodb.Keys)
    }),
  )
}

/** Number of messages in a queue, including those in flight. */
async function depth({ engines, deployment }: System, output: string): Promise<number> {
  const { Attributes: attributes = {} } = await sqsClient(engines.sqs).send(
    new GetQueueAttributesCommand({ QueueUrl: deployment.output(APP, output), AttributeNames: ['All'] }),
  )
  const counts = attributes as Readonly<Record<string, string>>
  return ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible']
    .map((name) => Number(counts[name]))
    .reduce((sum, count) => sum + count)
}
