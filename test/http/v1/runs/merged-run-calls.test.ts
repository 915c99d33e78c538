import { afterEach, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test('a waiting call accepts its result under the id of a merged run', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = makeTool('slow', async () => promise.then(() => ({ text: 'ok' })))
  const script = [{ calls: [{ id: 'c1', name: 'slow' }] }, { calls: [{ id: 'c2', name: 'mine' }] }, { text: 'done' }]
  harness = await openHttpHarness({ tools: [slow], script })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tools = [{ name: 'mine', description: '', parameters: { type: 'object' } }]
  const post = (body: object): Promise<{ id: string }> =>
    expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', { ...body, tools }, { prefer: 'wait=0' })
  await post({ content: 'one' })
  await expect.poll(() => harness.requests.length).toBe(1)
  const { id } = await post({ content: 'two', on_busy: 'steer' })
  resolve()
  const path = `/v1/sessions/s/runs/${id}`
  await expect.poll(async () => (await expectJson(harness, 200, 'GET', path))['status']).toBe('paused')
  const results = [{ tool_call_id: 'c2', output: 'mine' }]
  const run = await expectJson(harness, 200, 'POST', `${path}/tool-results`, { results })
  expect(run).toMatchObject({ id, status: 'completed' })
})
