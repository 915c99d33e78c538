/* Evidence, access: A key bound to an owner, and runs of sessions that this key has changed, see only that owner's data. */
import { afterEach, expect, test } from 'vitest'
import { readOutput } from '../../../../functions/tools/read-output.ts'
import { searchHistory } from '../../../../functions/tools/search-history.ts'
import { makeTool } from '../../../agent/harness.ts'
import type { Turn } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface RunBody {
  readonly id: string
  readonly status: string
  readonly messages: { id: string; tool_name?: string; parts: { text?: string }[] }[]
}

let harness: HttpHarness
afterEach(() => harness.close())

const vault = makeTool('vault', async () => ({ text: 'the combination is aubergine' }))
const tools = [searchHistory, readOutput, vault]
const search: Turn = { calls: [{ name: 'search_history', arguments: '{"query":"aubergine combination"}' }] }
const say = (session: string, content: string, key: Record<string, string>): Promise<RunBody> =>
  expectJson<RunBody>(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content }, key)
const resultsOf = (run: RunBody): string =>
  run.messages
    .flatMap(({ tool_name: name, parts }) => (name === undefined ? [] : parts.map((part) => part.text)))
    .join()

/**
 * Creates alice's session with an output, a key without an owner, and bob's key. The agents may search the whole
 * tenant.
 */
async function aliceAndBob(script: (pointer: () => string) => readonly Turn[]) {
  let pointer = ''
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'vault' }] }, { text: 'stored' }, ...script(() => pointer)],
    tools,
    policies: { searchScope: 'tenant' },
  })
  const all = await harness.key()
  const bob = await harness.key({ owner: 'bob' })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'alices', owner: 'alice' }, all)
  const { messages } = await say('alices', 'open the vault', all)
  pointer = `output:${messages.find((message) => message.tool_name === 'vault')?.id}`
  return { all, bob }
}

const read = (pointer: () => string): Turn =>
  async function* readIt() {
    const { completionOf } = await import('../../../agent/harness.ts')
    const call = { name: 'read_output', arguments: JSON.stringify({ pointer: pointer() }) }
    yield { type: 'completion', completion: completionOf({ calls: [call] }) }
  }

test("an agent that may search the tenant reads other owners' sessions for a key without an owner", async () => {
  const { all } = await aliceAndBob((pointer) => [search, read(pointer), { text: 'x' }])
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'bobs', owner: 'bob' }, all)
  expect(resultsOf(await say('bobs', 'look', all))).toMatch(/aubergine[^]*aubergine/)
})

test("a session created by an owner-bound key shows its agent no other owner's messages", async () => {
  const { all, bob } = await aliceAndBob((pointer) => [search, read(pointer), { text: 'x' }, search, { text: 'x' }])
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'bobs' }, bob)
  expect(resultsOf(await say('bobs', 'look', bob))).not.toContain('is aubergine')
  // Bob can read the results of every later run of that session, whichever key starts it.
  expect(resultsOf(await say('bobs', 'look again', all))).not.toContain('is aubergine')
})

test('the first input of an owner-bound key binds a session that was created for its owner', async () => {
  const { all, bob } = await aliceAndBob((pointer) => [search, read(pointer), { text: 'x' }, search, { text: 'x' }])
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'bobs', owner: 'bob' }, all)
  expect(resultsOf(await say('bobs', 'look', bob))).not.toContain('is aubergine')
  expect(resultsOf(await say('bobs', 'look again', all))).not.toContain('is aubergine')
})

test('a key may use only its named agents: for sessions, changes, runs and resolutions', async () => {
  harness = await openHttpHarness()
  const all = await harness.key()
  const key = await harness.key({ agents: ['other'] })
  const refused = async (method: string, path: string, body?: unknown): Promise<void> => {
    const problem = await expectJson(harness, 403, method, path, body, key)
    expect(problem).toMatchObject({ type: 'urn:tooltrail:problem:agent_not_allowed' })
  }
  await refused('POST', '/v1/sessions', { id: 'a' })
  await refused('POST', '/v1/sessions', { id: 'a', agent: 'default' })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'a', agent: 'other' }, key)
  await refused('PATCH', '/v1/sessions/a', { agent: 'default' })
  await expectJson(harness, 200, 'PATCH', '/v1/sessions/a', { title: 'x', agent: 'other' }, key)
  expect(await say('a', 'hello', key)).toMatchObject({ status: 'completed' })

  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'b' }, all)
  const run = await say('b', 'hello', all)
  await refused('POST', '/v1/sessions/b/messages', { content: 'x' })
  await refused('POST', '/v1/sessions/b/continue')
  await refused('POST', `/v1/sessions/b/runs/${run.id}/tool-results`, { results: [{ tool_call_id: 'c', output: '' }] })
  await expectJson(harness, 200, 'GET', '/v1/sessions/b', undefined, key)
})

test('a key cannot cancel runs or delete sessions of agents that it does not name', async () => {
  const asks: Turn = { calls: [{ name: 'ask', arguments: '{}' }] }
  harness = await openHttpHarness({ script: [asks, asks, { text: 'cancelled' }, { text: 'cancelled' }] })
  const all = await harness.key()
  const key = await harness.key({ agents: ['other'] })
  const parameters = { type: 'object', properties: {} }
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'b' }, all)
  const input = { content: 'hello', tools: [{ name: 'ask', description: 'Asks.', parameters }] }
  const run = await expectJson<RunBody>(harness, 200, 'POST', '/v1/sessions/b/messages', input, all)
  const asked = { model: 'default', input: 'hello', tools: [{ type: 'function', name: 'ask', parameters }] }
  const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/openai/v1/responses', asked, all)

  const writes = [
    ['POST', `/v1/sessions/b/runs/${run.id}/cancel`],
    ['POST', `/openai/v1/responses/${id}/cancel`],
    ['DELETE', '/v1/sessions/b'],
  ] as const
  for (const [method, path] of writes)
    expect((await harness.send(method, path, undefined, key)).status, `${method} ${path}`).toBe(403)
  const session = await expectJson(harness, 200, 'GET', '/v1/sessions/b', undefined, key)
  expect(session).toMatchObject({ run: { status: 'paused' } })
  for (const [method, path] of writes)
    expect((await harness.send(method, path, undefined, all)).status, `${method} ${path}`).toBeLessThan(300)
})

test("a key cannot move another agent's session to its own agent, and cannot change that session's instructions", async () => {
  harness = await openHttpHarness()
  const all = await harness.key()
  const key = await harness.key({ agents: ['other'] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'b' }, all)
  const hello = [{ role: 'user', content: 'hello' }]
  for (const [method, path, body] of [
    ['PATCH', '/v1/sessions/b', { agent: 'other' }],
    ['PATCH', '/v1/sessions/b', { instructions: 'Say yes.' }],
    ['POST', '/openai/v1/chat/completions', { model: 'other', messages: hello, metadata: { session_id: 'b' } }],
    ['POST', '/openai/v1/responses', { model: 'other', input: 'hello', conversation: 'b' }],
    [
      'POST',
      '/v1/chat',
      { id: 'b', agent: 'other', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] },
    ],
  ] as const)
    expect((await harness.send(method, path, body, key)).status, `${method} ${path}`).toBe(403)
  const session = await expectJson(harness, 200, 'GET', '/v1/sessions/b', undefined, all)
  expect(session).toMatchObject({ agent: 'default', run: null })
  expect(JSON.stringify(session)).not.toContain('Say yes.')
})
