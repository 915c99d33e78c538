/* Evidence, clients: `useChat` works: steps, tools, approvals, images, errors and reconnecting. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (): Promise<void> => {
  harness = await openHttpHarness()
}
const weather = { name: 'weather', description: '', parameters: { type: 'object' } }

describe('a chat', () => {
  const message = (parts: unknown) => ({ messages: [{ id: 'm', role: 'user', parts }] })
  test.each<[string, object, number, string]>([
    ['a bad id', { id: '../x' }, 400, 'body.id'],
    ['no messages', { messages: [] }, 400, 'body.messages'],
    ['a system message last', { messages: [{ id: 'a', role: 'system', parts: [] }] }, 400, 'body.messages[0].role'],
    ['no parts', message([]), 400, 'body.messages[0].parts'],
    ['a part of another type', message([{ type: 'step-start' }]), 400, 'body.messages[0].parts[0].type'],
    [
      'a file by address',
      message([{ type: 'file', mediaType: 'application/pdf', url: 'https://a.example/x' }]),
      400,
      'body.messages[0].parts[0].url',
    ],
    [
      'an image at an internal address',
      message([{ type: 'file', mediaType: 'image/png', url: 'https://127.0.0.1/x' }]),
      422,
      'body.messages[0].parts[0].url',
    ],
    [
      'an image that is none',
      message([{ type: 'file', url: 'data:image/png;base64,YWJj' }]),
      422,
      'body.messages[0].parts[0].url',
    ],
    ['a tool of ours', { tools: [{ ...weather, name: 'http_fetch' }] }, 400, 'body.tools[0].name'],
  ])('%s is rejected with the name of its field, and nothing is stored', async (_, fields, status, path) => {
    await open()
    const body = { id: 'talk', ...message([{ type: 'text', text: 'x' }]), ...fields }
    const problem = await expectJson(harness, status, 'POST', '/v1/chat', body)
    expect(problem['errors']).toMatchObject([{ path }])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions')).toMatchObject({ data: [] })
  })

  test.each<[string, object, number, string]>([
    ['another answer in an unknown chat', { trigger: 'regenerate-message' }, 404, 'session_not_found'],
    ['an unknown agent', { agent: 'nobody' }, 409, 'agent_not_found'],
    [
      'outputs for an unknown chat',
      { messages: [{ id: 'a', role: 'assistant', parts: [] }] },
      404,
      'session_not_found',
    ],
  ])('%s is refused', async (_, fields, status, code) => {
    await open()
    const body = { id: 'talk', ...message([{ type: 'text', text: 'x' }]), ...fields }
    const problem = await expectJson(harness, status, 'POST', '/v1/chat', body)
    expect(problem['type']).toBe(`urn:tooltrail:problem:${code}`)
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions')).toMatchObject({ data: [] })
  })

  test('in an existing session keeps the agent of the session', async () => {
    await open()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'talk', agent: 'other' })
    const body = { id: 'talk', ...message([{ type: 'text', text: 'Hello' }]) }
    await (await harness.send('POST', '/v1/chat', body)).text()
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/talk')).toMatchObject({ agent: 'other' })
  })

  test('of another owner can be neither read, followed nor continued', async () => {
    await open()
    const text = { id: 'talk', ...message([{ type: 'text', text: 'Hello' }]) }
    await (await harness.send('POST', '/v1/chat', text)).text()
    const key = await harness.key({ owner: 'bob' })
    await expectJson(harness, 404, 'GET', '/v1/chat/talk', undefined, key)
    // A chat that has not started gets the same response. A page with `resume` requests its stream as soon as the page opens.
    for (const chat of ['talk', 'new']) {
      const response = await harness.send('GET', `/v1/chat/${chat}/stream`, undefined, key)
      expect([response.status, await response.text()]).toEqual([204, ''])
    }
    const body = { id: 'talk', ...message([{ type: 'text', text: 'x' }]) }
    await expectJson(harness, 409, 'POST', '/v1/chat', body, key)
  })
})
