import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { say } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (): Promise<void> => {
  harness = await openHttpHarness()
}
const weather = { name: 'weather', description: '', parameters: { type: 'object' } }

describe('an invalid input is rejected with the name of its field, and nothing is stored', () => {
  const binary = (part: object) => ({ messages: [{ id: 'm', role: 'user', content: [{ type: 'binary', ...part }] }] })
  const image = (source: object) => ({ messages: [{ id: 'm', role: 'user', content: [{ type: 'image', source }] }] })
  test.each<[string, object, number, string]>([
    ['a bad thread', { threadId: '../x' }, 400, 'body.threadId'],
    ['no run id', { runId: '' }, 400, 'body.runId'],
    ['no messages', { messages: [] }, 400, 'body.messages'],
    ['an unknown role', { messages: [{ id: 'm', role: 'robot', content: '' }] }, 400, 'body.messages[0].role'],
    [
      'an image at an internal address',
      image({ type: 'url', value: 'https://127.0.0.1/a.png', mimeType: 'image/png' }),
      422,
      'body.messages[0].content[0].source.value',
    ],
    [
      'a document by address',
      {
        messages: [
          {
            id: 'm',
            role: 'user',
            content: [{ type: 'document', source: { type: 'url', value: 'https://a.example', mimeType: 'a/b' } }],
          },
        ],
      },
      400,
      'body.messages[0].content[0].source.type',
    ],
    [
      'an image that is none',
      image({ type: 'data', value: 'YWJj', mimeType: 'image/png' }),
      422,
      'body.messages[0].content[0].source.value',
    ],
    [
      'a binary part without content',
      binary({ mimeType: 'image/png', id: 'upload-7' }),
      400,
      'body.messages[0].content[0].data',
    ],
    [
      'a binary part that is no image',
      binary({ mimeType: 'image/png', data: 'YWJj' }),
      422,
      'body.messages[0].content[0].data',
    ],
    [
      'a binary part that is not base64',
      binary({ mimeType: 'text/plain', data: '%' }),
      400,
      'body.messages[0].content[0].data',
    ],
    [
      'a binary part at an internal address',
      binary({ mimeType: 'image/png', url: 'https://127.0.0.1/a.png' }),
      422,
      'body.messages[0].content[0].url',
    ],
    [
      'a binary file by address',
      binary({ mimeType: 'text/plain', url: 'https://a.example/a.txt' }),
      400,
      'body.messages[0].content[0].url',
    ],
    ['a tool of ours', { tools: [{ ...weather, name: 'http_fetch' }] }, 400, 'body.tools[0].name'],
    [
      'a decision that is none',
      { resume: [{ interruptId: 'x', status: 'resolved', payload: 7 }] },
      400,
      'body.resume[0].payload',
    ],
  ])('%s', async (_, fields, status, path) => {
    await open()
    const body = { threadId: 'talk', runId: 'r', messages: [say('x')], tools: [], ...fields }
    const problem = await expectJson(harness, status, 'POST', '/v1/ag-ui/default', body)
    expect(problem['errors']).toMatchObject([{ path }])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions')).toMatchObject({ data: [] })
  })

  test('a result or a decision for an unknown thread', async () => {
    await open()
    const resume = [{ interruptId: 'x', status: 'resolved', payload: true }]
    const body = { threadId: 'talk', runId: 'r', messages: [], resume }
    const problem = await expectJson(harness, 409, 'POST', '/v1/ag-ui/default', body)
    expect(problem['errors']).toMatchObject([{ path: 'body.resume' }])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions')).toMatchObject({ data: [] })
  })
})
