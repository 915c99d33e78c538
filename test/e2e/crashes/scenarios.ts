import { setTimeout as sleep } from 'node:timers/promises'
import type { DurableClient } from './durable-client.ts'
import { inputText, marksOf } from './scripted-model.ts'

/** What a client does. It is done again from the start after each crash, and finds by what it knows where it was. */
export interface Scenario {
  readonly name: string
  /** The session is gone afterwards. */
  readonly deletes?: boolean
  drive(client: DurableClient): Promise<void>
}

const CLIENT_TOOL = { name: 'client', description: 'executed by the caller', parameters: { type: 'object' } }

/** One input to its end, its events read as they come. */
const oneInput = (name: string, word: string, tools: readonly object[] = []): Scenario => ({
  name,
  async drive(client) {
    await client.openSession()
    await client.finish(await submit(client, 'first', word, { tools }, true))
  },
})

/** Every kind of turn that the loop knows. */
export const scenarios: readonly Scenario[] = [
  oneInput('parallel', 'parallel'),
  oneInput('large', 'large'),
  oneInput('pause', 'ask', [CLIENT_TOOL]),
  oneInput('approval', 'approve'),
  {
    name: 'queued',
    async drive(client) {
      await client.openSession()
      const first = await submit(client, 'first', 'wait', {}, false)
      const second = await submit(client, 'second', 'say', {}, false)
      await client.finish(second)
      await client.finish(first)
    },
  },
  {
    name: 'cancel',
    async drive(client) {
      await client.openSession()
      const run = await submit(client, 'first', 'hang', {}, false)
      await client.untilCalls(run)
      await client.stop(run)
      await client.finish(run)
    },
  },
  {
    name: 'steer',
    async drive(client) {
      await client.openSession()
      const run = await submit(client, 'first', 'wait', {}, false)
      await client.untilCalls(run)
      const steering = await submit(client, 'second', 'say', { on_busy: 'steer' }, false)
      await client.finish(run)
      await client.finish(steering)
    },
  },
  { name: 'deletion', deletes: true, drive: driveDeletion },
]

async function driveDeletion(client: DurableClient): Promise<void> {
  const { session } = client.knows
  if (!client.knows.stopped.has('deleting')) {
    await client.openSession()
    await client.finish(await submit(client, 'first', 'large', {}, true))
    client.knows.stopped.add('deleting')
  }
  const { status, text } = await client.client.send('DELETE', `/v1/sessions/${session}`)
  if (status !== 200 && status !== 202 && status !== 404) throw new Error(`DELETE: ${status} ${text}`)
  for (let attempt = 0; attempt < 1_500; attempt++) {
    const deletion = await client.client.get<{ status: 'running' | 'completed' }>(`/v1/deletions/${session}`)
    if (deletion.status === 'completed') return
    await sleep(20)
  }
  throw new Error(`${session}: the deletion does not end`)
}

async function submit(
  client: DurableClient,
  key: string,
  word: string,
  body: object,
  stream: boolean,
): Promise<string> {
  const unique = `${client.knows.session}.${key}`
  for (const mark of marksOf(word, unique)) client.knows.marks.add(mark)
  return client.submit(key, { content: inputText(word, unique), ...body }, stream)
}
