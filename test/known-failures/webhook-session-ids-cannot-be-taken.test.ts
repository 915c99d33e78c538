/*
 * A key bound to an owner cannot create the session that a webhook will name. Today it can, and the webhook's deliveries get 403.
 *
 * Suite: test/channels/webhooks/
 */
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const SECRET = 'a-secret-of-a-webhook-for-this-test'
const hook = {
  verify: { preset: 'github', secrets: ['${secret:HOOK}'] },
  text: '{{/t}}',
  session: 'gh-{{/n}}',
  owner: '{{/who}}',
}

let scripted: ScriptedProgram
beforeAll(async () => {
  const agents = { agents: { default: {} }, webhooks: { hook } }
  scripted = await startScriptedProgram({ agents, env: { HOOK: SECRET } })
})
afterAll(() => scripted.close())

async function deliver(n: number): Promise<number> {
  const body = JSON.stringify({ t: 'hello', n, who: 'bob' })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-github-delivery': `d${n}`, 'x-hub-signature-256': `sha256=${signature}` }
  return (await scripted.client.send('POST', '/webhooks/hook', body, headers)).status
}

test('a delivery to a new session is accepted', async () => expect(await deliver(1)).toBe(202))

test.fails('a delivery is accepted after a key of another owner created its session', async () => {
  const scopes = ['--scope', 'read', '--scope', 'write']
  const output = await scripted.command('keys', 'create', '--tenant', 'default', ...scopes, '--owner', 'alice')
  const authorization = `Bearer ${/^tt_\S+/m.exec(output)?.[0]}`
  const { status } = await scripted.client.send('POST', '/v1/sessions', { id: 'gh-2' }, { authorization })
  expect([201, 403]).toContain(status)
  expect(await deliver(2)).toBe(202)
})
