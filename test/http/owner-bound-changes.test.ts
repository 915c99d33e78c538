/* Evidence, access: A key bound to an owner, and runs of sessions that this key has changed, see only that owner's data. */
import { afterEach, expect, test } from 'vitest'
import { TooltrailError } from '../../functions/domain/errors.ts'
import type { Session } from '../../functions/domain/session.ts'
import { searchHistory } from '../../functions/tools/search-history.ts'
import type { Turn } from '../agent/harness.ts'
import { expectJson, openHttpHarness, statusOf } from './harness.ts'
import type { HttpHarness } from './harness.ts'

type Headers = { readonly authorization: string }

let harness: HttpHarness
afterEach(() => harness.close())

const SECRET = 'the vault opens with aubergine'
const search: Turn = { calls: [{ name: 'search_history', arguments: '{"query":"vault"}' }] }
/** Kind of write that is rejected, as if the process died before it. Undefined: none. */
let fails: 'update' | 'bindToOwner' | undefined

/**
 * Opens a program in which bob has written a secret. The agent `researcher` may search the whole tenant; `default` may
 * search only the history of its session's owner.
 */
async function open(): Promise<{ readonly all: Headers; readonly alice: Headers }> {
  fails = undefined
  const die = (): never => {
    throw new TooltrailError('storage_failed', 'the process died', { retryable: true })
  }
  harness = await openHttpHarness({
    script: [{ text: 'noted' }, search, { text: 'done' }],
    tools: [searchHistory],
    agents: [{ name: 'researcher' }],
    policies: { searchScope: 'tenant' },
    change: (ports) => ({
      ...ports,
      sessions: {
        ...ports.sessions,
        update: async (key, change) => (fails === 'update' ? die() : ports.sessions.update(key, change)),
        bindToOwner: async (key) => (fails === 'bindToOwner' ? die() : ports.sessions.bindToOwner(key)),
      },
    }),
  })
  const all = await harness.key()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'bobs', owner: 'bob' }, all)
  await expectJson(harness, 200, 'POST', '/v1/sessions/bobs/messages', { content: SECRET }, all)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'desk', owner: 'alice' }, all)
  return { all, alice: await harness.key({ owner: 'alice' }) }
}

/** Starts a run with a key that has no owner. Returns the session's messages, read with alice's key. */
async function readAfterRun(session: string, { all, alice }: { readonly all: Headers; readonly alice: Headers }) {
  await expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'look it up' }, all)
  return (await harness.send('GET', `/v1/sessions/${session}/messages`, undefined, alice)).text()
}

const stored = async (session = 'desk'): Promise<Session | undefined> =>
  harness.ports.sessions.read({ tenant: 'default', session })

test.each([
  { agent: 'researcher' },
  { instructions: 'Say all that you can find.' },
  { metadata: { topic: 'vaults' } },
  { user: 'alice' },
])('runs of a session that an owner-bound key changed (%o) find no messages of other owners', async (change) => {
  const keys = await open()
  await expectJson(harness, 200, 'PATCH', '/v1/sessions/desk', change, keys.alice)
  expect(await readAfterRun('desk', keys)).not.toContain('aubergine')
})

test('a new title does not change the messages that runs of the session find', async () => {
  const keys = await open()
  await expectJson(harness, 200, 'PATCH', '/v1/sessions/desk', { title: 'Vaults' }, keys.alice)
  expect(await readAfterRun('desk', keys)).toContain('aubergine')
})

test('a copy of a bound session is bound, also when a key without an owner creates it', async () => {
  const keys = await open()
  const messages = [
    { role: 'user', content: 'Say all that you can find.' },
    { role: 'assistant', content: 'Yes.' },
  ]
  await expectJson(harness, 200, 'POST', '/v1/sessions/desk/import', { format: 'openai', messages }, keys.alice)
  await expectJson(harness, 201, 'POST', '/v1/sessions/desk/fork', { id: 'copy' }, keys.all)
  expect(await readAfterRun('copy', keys)).not.toContain('aubergine')
})

const hello = [{ role: 'user', content: 'hello' }]
const said = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }
const agUi = { threadId: 'desk', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'hello' }] }
const CHANGES = [
  ['PATCH', '/v1/sessions/desk', { agent: 'researcher' }],
  ['POST', '/openai/v1/chat/completions', { model: 'researcher', messages: hello, metadata: { session_id: 'desk' } }],
  ['POST', '/openai/v1/responses', { model: 'researcher', input: 'hello', conversation: 'desk' }],
  ['POST', '/v1/chat', { id: 'desk', agent: 'researcher', messages: [said] }],
  ['POST', '/v1/ag-ui/researcher', { ...agUi, tools: [], context: [], state: {}, forwardedProps: {} }],
] as const

test.each(CHANGES)('a process that dies during %s %s never leaves a change without the binding', async (...request) => {
  const { alice } = await open()
  const [method, path, body] = request
  fails = 'bindToOwner'
  expect(await statusOf(harness, method, path, alice, body)).toBe(503)
  expect(await stored()).toMatchObject({ agent: 'default' })
  expect(await stored()).not.toHaveProperty('instructions')
  fails = 'update'
  expect(await statusOf(harness, method, path, alice, body)).toBe(503)
  expect(await stored()).toMatchObject({ agent: 'default', ownerBound: true })
  expect(await stored()).not.toHaveProperty('instructions')
})
