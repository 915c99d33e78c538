import { afterEach, expect, test } from 'vitest'
import { resolvedCalls } from '../../../functions/domain/runs/call-resolution.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import { createOpenAiImport } from '../../../functions/log/import/openai.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

/* Hypotheses of attackers (docs/assurance/hypotheses-followers-approvals-imports-indexes.md). */

let harness: HttpHarness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const user = (text: string): object => ({ role: 'user', parts: [{ type: 'text', text }] })
const native = (...messages: object[]): object => ({ format: 'native', messages })

test('search redacts secrets in the title of a session', async () => {
  harness = await openHttpHarness({ script: [{ text: 'a walrus' }] })
  const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: `use ${secret} for the walrus` })
  const found = await (await harness.send('GET', '/v1/search?q=walrus')).text()
  expect(found).toContain('use [redacted] for the walrus')
  expect(found).not.toContain(secret)
})

test("an event id of another session's run is ignored: all events follow", async () => {
  harness = await openHttpHarness({ script: [{ text: 'one' }, { text: 'two' }] })
  for (const id of ['a', 'b']) await expectJson(harness, 201, 'POST', '/v1/sessions', { id })
  await expectJson(harness, 200, 'POST', '/v1/sessions/a/messages', { content: 'x' })
  const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/b/messages', { content: 'x' })
  const newest = { order: 'descending', limit: 1 } as const
  const { messages } = await harness.ports.reader.messages({ tenant: 'default', session: 'a' }, newest)
  const path = `/v1/sessions/b/runs/${id}/events`
  const all = await (await harness.send('GET', path)).text()
  const foreign = { 'last-event-id': `${messages[0]?.id}:message.completed` }
  expect(await (await harness.send('GET', path, undefined, foreign)).text()).toBe(all)
})

test('a request that both approves and denies one call is refused', () => {
  const call = { id: 'm', toolCallId: 'c', status: 'waiting', needs: 'approval', createdAt: 0 } as ToolMessage
  const both = [true, false].map(
    (approved) => ({ toolCallId: 'c', kind: 'approval', approved, hash: String(approved) }) as const,
  )
  expect(() => resolvedCalls({ runId: 'r', calls: [call], isOpen: true }, both, 1)).toThrow('already approved')
})

test('results of calls with empty and generated ids are assigned to their calls', () => {
  const reader = createOpenAiImport()
  const call = (id: string): object => ({ id, function: { name: 'find', arguments: '{}' } })
  const result = (id: string, content: string): object => ({ role: 'tool', tool_call_id: id, content })
  const asks = { role: 'assistant', content: null, tool_calls: [call(''), call('call_0'), call('')] }
  const lines = [{ role: 'user', content: 'x' }, asks, result('call_0', 'B'), result('', 'A'), result('', 'C')]
  const messages = lines.flatMap((line, place) => [...reader.take(line, `[${place}]`)])
  const results = messages.flatMap((one) => (one.role === 'tool' ? [[one.sequence, one.parts]] : []))
  const text = (one: string): object[] => [{ type: 'text', text: one }]
  expect(results).toEqual([1, 0, 2].map((sequence, place) => [sequence, text('BAC'.charAt(place))]))
  const ids = messages.flatMap((one) => (one.role === 'assistant' ? one.toolCalls.map(({ id }) => id) : []))
  expect(new Set(ids).size).toBe(3)
})

test('an idempotency key cannot be used for both an import and an input', async () => {
  harness = await openHttpHarness({ script: [{ text: 'one' }] })
  const [first, second] = ['k', 'l'].map((key) => ({ 'idempotency-key': key }))
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', native(user('x')), first)
  await expectJson(harness, 409, 'POST', '/v1/sessions/s/messages', { content: 'x' }, first)
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'x' }, second)
  await expectJson(harness, 409, 'POST', '/v1/sessions/s/import', native(user('x')), second)
})

test('lines with a byte order mark, CRLF and empty lines are imported completely', async () => {
  harness = await openHttpHarness({})
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const body = `\uFEFF${[JSON.stringify(user('a')), '', JSON.stringify(user('b'))].join('\r\n')}`
  const response = await harness.send('POST', '/v1/sessions/s/import', body, { 'content-type': 'application/x-ndjson' })
  expect([response.status, await response.json()]).toMatchObject([200, { messages: 2 }])
})

test('a search cursor of one owner is invalid for another owner', async () => {
  harness = await openHttpHarness({})
  const [ann, bob] = [await harness.key({ owner: 'ann' }), await harness.key({ owner: 'bob' })]
  for (const [id, key] of [
    ['a', ann],
    ['b', bob],
  ] as const) {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id }, key)
    const words = native(user('walrus one'), user('walrus two'), user('walrus three'))
    await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/import`, words, key)
  }
  const search = '/v1/search?q=walrus&limit=1'
  const { next } = await expectJson<{ next: string }>(harness, 200, 'GET', search, undefined, ann)
  await expectJson(harness, 200, 'GET', `${search}&after=${next}`, undefined, ann)
  await expectJson(harness, 422, 'GET', `${search}&after=${next}`, undefined, bob)
})

test('a rejected import changes neither the title nor the metadata', async () => {
  const held = heldTurn()
  harness = await openHttpHarness({ script: [held.turn] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', metadata: { a: 1 } })
  const session = { object: 'session', title: 'New', title_source: 'given', metadata: { a: 2 } }
  const lines = [session, user('x')].map((line) => JSON.stringify(line)).join('\n')
  const type = { 'content-type': 'application/x-ndjson' }
  await expectJson(harness, 409, 'POST', '/v1/sessions/s/import?source=x&from=5', lines, type)
  await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', { content: 'Old' }, { prefer: 'respond-async' })
  await expectJson(harness, 409, 'POST', '/v1/sessions/s/import', lines, type)
  await expectJson(harness, 409, 'POST', '/v1/sessions/s/import', native(session, user('x')))
  const shown = await expectJson(harness, 200, 'GET', '/v1/sessions/s')
  expect(shown).toMatchObject({ title: 'Old', metadata: { a: 1 } })
  held.letGo()
})

test('a rejected result stores no objects', async () => {
  const stored: string[] = []
  harness = await openHttpHarness({
    script: [{ calls: [{ id: 'c', name: 'ask' }] }],
    change: (ports) => ({
      ...ports,
      outputs: {
        ...ports.outputs,
        put: (...given) => {
          stored.push(given[1])
          return ports.outputs.put(...given)
        },
      },
    }),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tools = [{ name: 'ask', description: 'Asks.', parameters: { type: 'object' } }]
  const { id } = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
  const path = `/v1/sessions/s/runs/${String(id)}/tool-results`
  const results = (...outputs: string[]) => ({ results: outputs.map((output) => ({ tool_call_id: 'c', output })) })
  await expectJson(harness, 409, 'POST', path, results('a'.repeat(200_000), 'b'.repeat(200_000)))
  expect(stored).toEqual([])
  await expectJson(harness, 202, 'POST', path, results('short'), { prefer: 'respond-async' })
  await expectJson(harness, 409, 'POST', path, results('a'.repeat(200_000)))
  expect(stored).toEqual([])
})
