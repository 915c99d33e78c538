/*
 * The deltas of an item of a Response are its text, also for a client that resumes after an abandoned attempt of the
 * model. A network error or a kill of the process abandons an attempt. Today a sequence number is the position of a
 * character in its round. The resumed stream continues at that position of the next attempt, under the id of the first
 * item. The done events and the final Response have the right text.
 * Suite: test/http/openai/responses/responses-retried.test.ts
 */
import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../functions/ports/model.ts'
import type { Turn } from '../agent/harness.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'
import { openAiClient } from '../http/openai/openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const broken: Turn = async function* () {
  yield { type: 'text.delta', part: 0, text: 'Half ' }
  throw new ModelError('network', 'broken', { retryable: true })
}

async function expectOneText(script: readonly Turn[]): Promise<void> {
  harness = await openHttpHarness({ script })
  const client = openAiClient(harness)
  const texts = new Map<string, string>()
  let [id, after] = ['', 0]
  for await (const event of await client.responses.create({ model: 'default', input: 'Hello', stream: true })) {
    if ('sequence_number' in event) after = event.sequence_number
    if (event.type === 'response.created') id = event.response.id
    if (event.type !== 'response.output_text.delta') continue
    texts.set(event.item_id, event.delta)
    break
  }
  await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed')
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after }))
    if (event.type === 'response.output_text.delta')
      texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta)
  const { output } = await client.responses.retrieve(id)
  for (const item of output)
    if (item.type === 'message') expect(item.content).toMatchObject([{ text: texts.get(item.id) ?? '' }])
}

test('a Response that is resumed within its only attempt has the text of this attempt', () =>
  expectOneText([{ text: 'Whole.' }]))
test.fails('a Response that is resumed after an abandoned attempt has the text of only one attempt', () =>
  expectOneText([broken, { text: 'Whole.' }]))
