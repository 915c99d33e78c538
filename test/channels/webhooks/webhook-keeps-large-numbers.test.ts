/*
 * A webhook names its session by a number above 2^53, such as an order id. Each number gets its own session, and the
 * text keeps all numbers unchanged, such as 10.00.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const orders = {
  verify: { preset: 'bearer', secrets: ['${secret:HOOK}'] },
  text: 'order {{/order/id}} total {{/order/total}}: {{/order}}',
  session: 'order-{{/order/id}}',
}
const posts = {
  ...{ verify: orders.verify, text: 'post {{/id}}', session: 'user-{{/user}}', owner: '{{/user}}' },
  ...{ delivery: '{{/id}}', when: { '/kind': [10], '/shop': [JSON.rawJSON('9007199254740993')] } },
}

let scripted: ScriptedProgram
beforeAll(async () => {
  const agents = { agents: { default: { tools: [] } }, webhooks: { orders, posts } }
  scripted = await startScriptedProgram({ agents, env: { HOOK: SECRET } })
})
afterAll(() => scripted.close())

interface Reply {
  readonly id: string
  readonly session_id?: string
  readonly run_id?: string
  readonly ignored?: boolean
}

async function deliver(webhook: string, body: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  return (await scripted.client.send<Reply>('POST', `/webhooks/${webhook}`, body, headers)).body
}
const order = async (id: string, total = '10.00'): Promise<string | undefined> =>
  (await deliver('orders', `{"order":{"id":${id},"total":${total}}}`)).session_id
const post = (id: string, user: string, { kind = '10', shop = '9007199254740993' } = {}): Promise<Reply> =>
  deliver('posts', `{"id":${id},"user":${user},"kind":${kind},"shop":${shop}}`)

test('field/19/small-orders · sqlite: deliveries with different small numbers enter two sessions', async () => {
  expect([await order('41'), await order('42')]).toEqual(['order-41', 'order-42'])
})

test('field/19/large-orders · sqlite: deliveries whose numbers differ only beyond 2^53 enter two sessions', async () => {
  const sessions = [await order('9007199254740992'), await order('9007199254740993')]
  expect(sessions).toEqual(['order-9007199254740992', 'order-9007199254740993'])
})

test('field/19/order-text · chat · sqlite: the text of a delivery keeps the spelling of its numbers', async () => {
  scripted.play()
  const content = 'order 9007199254740995 total 10.00: {"id":9007199254740995,"total":10.00}'
  await order('9007199254740995')
  // Runs of earlier deliveries may still send their requests.
  await expect
    .poll(() => scripted.requests().map(({ body }) => body.messages.at(-1)))
    .toContainEqual(expect.objectContaining({ content }))
})

test('field/19/owners · sqlite: owners and delivery ids that differ only beyond 2^53 stay distinct', async () => {
  const first = await post('9007199254740996', '9007199254740992')
  const second = await post('9007199254740997', '9007199254740993')
  expect([first.session_id, second.session_id]).toEqual(['user-9007199254740992', 'user-9007199254740993'])
  expect([first.id, second.id]).toEqual(['9007199254740996', '9007199254740997'])
  const { owner } = await scripted.client.get<{ owner: string }>(`/v1/sessions/${second.session_id}`)
  expect(owner).toBe('9007199254740993')
  expect((await post('9007199254740997', '9007199254740993')).run_id).toBe(second.run_id)
})

test('field/19/conditions · sqlite: a condition holds for an equal number, however it is spelled', async () => {
  expect(await post('1', '1', { kind: '10.00' })).not.toHaveProperty('ignored')
  expect(await post('2', '1', { kind: '1e1' })).not.toHaveProperty('ignored')
  expect(await post('3', '1', { shop: '9007199254740992' })).toMatchObject({ ignored: true })
  expect(await post('4', '1', { kind: '10.000000000000000001' })).toMatchObject({ ignored: true })
})
