import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

const SECRET = 'a-secret-of-a-webhook-for-this-test'
const SLOW_BODIES = 40
/** Bytes that each slow body sends at once. All slow bodies together exceed the budget of a sender. */
const FIRST_BYTES = 3_000_000
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

async function statusOfDelivery(id: string): Promise<number> {
  const body = JSON.stringify({ t: 'x'.repeat(100_000), n: id, who: 'bob' })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-github-delivery': id, 'x-hub-signature-256': `sha256=${signature}` }
  return (await scripted.client.send('POST', '/webhooks/hook', body, headers)).status
}

/** Opens requests whose bodies arrive at 2 KB a second. */
async function openSlowBodies(): Promise<() => void> {
  const { host, hostname, port } = new URL(scripted.client.url)
  const head = ['POST /webhooks/hook HTTP/1.1', `host: ${host}`, 'content-type: application/json']
  const sockets = Array.from({ length: SLOW_BODIES }, () => {
    const socket = connect({ port: Number(port), host: hostname }).on('error', () => undefined)
    socket.write(`${[...head, 'content-length: 4194304'].join('\r\n')}\r\n\r\n${'x'.repeat(FIRST_BYTES)}`)
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const timer = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x'.repeat(4_500))
  }, 2_000)
  return () => {
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
  }
}

test('a signed delivery of 100 KB is accepted', async () => expect(await statusOfDelivery('alone')).toBe(202))

test('a signed delivery of 100 KB is accepted beside 40 slow bodies without a signature', async () => {
  const close = await openSlowBodies()
  try {
    const statuses = [await statusOfDelivery('first'), await statusOfDelivery('second')]
    expect(statuses).toEqual([202, 202])
  } finally {
    close()
  }
})
