/* Evidence, clients: Under OpenAI's paths, the error for a wrong header names that header. */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { sessionsOf } from './openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

interface Refusal {
  readonly error: { readonly param: string; readonly message: string }
}

const chat = { model: 'default', messages: [{ role: 'user', content: 'Hello' }] }
const response = { model: 'default', input: 'Hello' }
const long = 'k'.repeat(256)
const id = 'must be 1–128 of A-Z a-z 0-9 . _ : - and start with a letter or digit'

test.each<[string, object, Record<string, string>, string]>([
  ['chat/completions', chat, { 'x-session-id': '../x' }, `header.x-session-id ${id}`],
  ['chat/completions', chat, { 'idempotency-key': long }, 'header.idempotency-key must be 1–255'],
  ['responses', response, { 'x-session-id': '../x' }, `header.x-session-id ${id}`],
  ['responses', response, { 'idempotency-key': long }, 'header.idempotency-key must be 1–255'],
  ['responses', response, { 'x-tooltrail-tools': 'all' }, 'header.x-tooltrail-tools'],
])('%s: an invalid header is rejected with its own name, and nothing is stored', async (path, body, headers, says) => {
  harness = await openHttpHarness()
  const { error } = await expectJson<Refusal>(harness, 400, 'POST', `/openai/v1/${path}`, body, headers)
  expect(error.param).toBe(Object.keys(headers)[0])
  expect(error.message).toContain(says)
  expect(error.message).not.toContain('body')
  expect(await sessionsOf(harness)).toEqual([])
})

test('a session that is named twice is rejected with the names of both fields', async () => {
  harness = await openHttpHarness()
  const body = { ...response, conversation: 'a' }
  const { error } = await expectJson<Refusal>(harness, 400, 'POST', '/openai/v1/responses', body, {
    'x-session-id': 'b',
  })
  expect([error.param, error.message]).toEqual([
    'conversation',
    expect.stringContaining('cannot be combined with x-session-id'),
  ])
})
