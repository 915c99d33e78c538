/* Evidence, limits: In all four formats, a run over a limit is refused before its session is created. */
import { afterEach, expect, test } from 'vitest'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const message = { id: 'm1', role: 'user', content: 'Hello', parts: [{ type: 'text', text: 'Hello' }] }
const talk = { model: 'default', messages: [message] }

/** For each format, a request that creates its own session. */
const ENDPOINTS: readonly (readonly [string, string, object])[] = [
  ['Chat Completions', '/openai/v1/chat/completions', talk],
  ['Responses', '/openai/v1/responses', { model: 'default', input: 'Hello' }],
  ['useChat', '/v1/chat', { id: 'new', trigger: 'submit-message', messages: [message] }],
  [
    'AG-UI',
    '/v1/ag-ui/default',
    { threadId: 'new', runId: 'r', messages: [message], tools: [], context: [], state: {} },
  ],
]

test.each(ENDPOINTS)('%s: a run over a limit is rejected before its session is created', async (_, path, body) => {
  const held = heldTurn()
  harness = await openHttpHarness({
    script: [held.turn],
    settings: { caps: { keys: { tokensPerDay: 1 }, tenants: {} } },
  })
  const busy = await harness.key({ caps: { activeRuns: 1 } })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, busy)
  await harness.send('POST', '/v1/sessions/s/messages', { content: 'x' }, { ...busy, prefer: 'wait=0' })
  const refused = await harness.send('POST', path, body, busy)
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
  held.letGo()
  const spent = await harness.key({})
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 't' }, spent)
  await expectJson(harness, 200, 'POST', '/v1/sessions/t/messages', { content: 'x' }, spent)
  expect((await harness.send('POST', path, body, spent)).status).toBe(429)
  const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions', undefined, spent)
  expect(data.map(({ id }) => id).toSorted()).toEqual(['s', 't'])
})
