import { afterEach, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

const tools = [{ name: 'weather', description: 'The weather.', parameters: { type: 'object' } }]
const UNKNOWN = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'

/** A run, or the problem returned instead. */
interface Run {
  readonly id: string
  readonly waiting: readonly { readonly message_id: string }[]
  readonly type?: string
  readonly detail?: string
}

let harness: HttpHarness
afterEach(() => harness.close())

test('tool-results accepts the message id of waiting[], or the call id if it is unique', async () => {
  const pay = makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })
  const round = {
    calls: [
      { id: 'c1', name: 'weather' },
      { id: 'c2', name: 'pay' },
    ],
  }
  harness = await openHttpHarness({ script: [round, round, { text: 'ok' }], tools: [pay] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const run = await expectJson<Run>(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go', tools })
  const expectResults = (results: unknown, status = 200): Promise<Run> =>
    expectJson(harness, status, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, { results })
  const [weather, payment] = run.waiting.map(({ message_id }) => message_id)
  await expectResults([{ message_id: UNKNOWN, output: 'Sunny' }], 404)
  await expectResults([{ message_id: weather, tool_call_id: 'c2', output: 'Sunny' }], 404)
  await expectResults(
    [
      { message_id: weather, output: 'Sunny' },
      { message_id: weather, output: 'Rain' },
    ],
    409,
  )
  await expectResults([{ tool_call_id: 'c1', output: 'Sunny' }])
  const second = await expectResults([{ message_id: payment, approve: true }])
  expect(second).toMatchObject({ status: 'paused', waiting: [{ tool_call_id: 'c1' }, { tool_call_id: 'c2' }] })

  const ambiguous = [{ tool_call_id: 'c1', output: 'Rain' }]
  const problem = await expectResults(ambiguous, 409)
  expect(problem.type).toBe('urn:tooltrail:problem:ambiguous_call')
  for (const candidate of [weather, second.waiting[0]?.message_id]) expect(problem.detail).toContain(candidate)
  const named = second.waiting.map(({ message_id }) => message_id)
  const done = await expectResults([
    { message_id: named[0], error: 'no weather' },
    { message_id: named[1], approve: false },
  ])
  expect(done).toMatchObject({ status: 'completed' })
})
