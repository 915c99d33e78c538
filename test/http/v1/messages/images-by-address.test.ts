/* Evidence, api: In every format, an image given by address is stored before its input. If that fails, nothing is stored. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createImageBudget, withImages } from '../../../../functions/http/v1/messages/incoming-images.ts'
import { ImageUnavailable } from '../../../../functions/ports/image-source.ts'
import type { OpenImage } from '../../../../functions/ports/image-source.ts'
import { listen } from '../../../adapters/mcp/servers.ts'
import type { RunningServer } from '../../../adapters/mcp/servers.ts'
import { PNG } from '../../../fixtures/png.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let server: RunningServer
let harness: HttpHarness
/** Number of requests that the server received. */
let received = 0

beforeAll(async () => {
  server = await listen((request, response) => {
    received++
    if (request.url === '/dot.png') response.end(Buffer.from(PNG, 'base64'))
    else if (request.url === '/page.png') response.end('<html>secret text</html>')
    else if (request.url === '/inwards.png') response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
    else response.writeHead(500).end('secret text')
  })
})
beforeAll(async () => {
  harness = await openHttpHarness({ allowedHosts: [server.host], script: [{ calls: [{ id: 'c1', name: 'ask' }] }] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterAll(async () => {
  await harness.close()
  await server.close()
})
beforeEach(() => {
  received = 0
})

/** Reads the list of sessions and the log of the session `s`. Rejected requests change neither. */
const stored = async () => [
  await expectJson(harness, 200, 'GET', '/v1/sessions'),
  await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages'),
]

const say = (url: string) => [
  { type: 'text', text: 'look' },
  { type: 'image_url', image_url: { url } },
]

interface Format {
  readonly name: string
  readonly path: string
  readonly body: (url: string) => object
  /** Path of the image's address, as an error names it. */
  readonly field: string
}
const FORMATS: readonly Format[] = [
  {
    name: 'Chat Completions',
    path: '/openai/v1/chat/completions',
    body: (url) => ({ model: 'default', messages: [{ role: 'user', content: say(url) }] }),
    field: 'messages[0].content[1].image_url.url',
  },
  {
    name: 'Responses',
    path: '/openai/v1/responses',
    body: (url) => ({
      model: 'default',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
    }),
    field: 'input[0].content[1].image_url',
  },
  {
    name: 'AI SDK',
    path: '/v1/chat',
    body: (url) => ({
      id: 'chat',
      messages: [
        {
          id: 'm',
          role: 'user',
          parts: [
            { type: 'text', text: 'look' },
            { type: 'file', mediaType: 'image/*', url },
          ],
        },
      ],
    }),
    field: 'body.messages[0].parts[1].url',
  },
  {
    name: 'AG-UI',
    path: '/v1/ag-ui/default',
    body: (url) => ({
      threadId: 'thread',
      runId: 'r',
      tools: [],
      messages: [
        {
          id: 'm',
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', source: { type: 'url', value: url } },
          ],
        },
      ],
    }),
    field: 'body.messages[0].content[1].source.value',
  },
  {
    name: 'AG-UI before version 1.0',
    path: '/v1/ag-ui/default',
    body: (url) => ({
      threadId: 'binary-thread',
      runId: 'r',
      tools: [],
      messages: [
        {
          id: 'm',
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'binary', mimeType: 'image/png', url },
          ],
        },
      ],
    }),
    field: 'body.messages[0].content[1].url',
  },
]

/** The media of the last model request, with their bytes. */
const sentImages = () =>
  harness.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === 'assistant' ? [] : message.parts))
    .flatMap((part) => (part.type === 'image' ? [Buffer.from(part.data ?? []).toString('base64')] : []))

describe('in our own API', () => {
  const image = (name: string) => ({ type: 'image', url: `http://${server.host}/${name}`, filename: 'dot.png' })
  test('a tool result with the address of an image sends the image to the model', async () => {
    const tools = [{ name: 'ask', description: '', parameters: {} }]
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'ask', tools })
    const path = `/v1/sessions/s/runs/${String(run['id'])}/tool-results`
    const answer = (name: string) => ({ results: [{ tool_call_id: 'c1', output: [image(name)] }] })
    const problem = await expectJson(harness, 422, 'POST', path, answer('gone.png'))
    expect(problem['errors']).toMatchObject([{ path: 'body.results[0].output[0].url' }])
    await expectJson(harness, 200, 'POST', path, answer('dot.png'))
    expect(sentImages()).toContain(PNG)
  })

  test('an input with the address of an image stores the image and sends it to the model', async () => {
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: [image('dot.png')] })
    expect(run).toMatchObject({
      messages: [{ parts: [{ type: 'image', media_type: 'image/png', filename: 'dot.png', bytes: 70 }] }, {}],
    })
    expect(sentImages()).toContain(PNG)
  })

  test('each image that cannot be fetched is named, and nothing is stored', async () => {
    const content = [image('dot.png'), image('gone.png'), image('inwards.png')]
    const before = await stored()
    const problem = await expectJson(harness, 422, 'POST', '/v1/sessions/s/messages', { content })
    expect(problem['errors']).toEqual([
      { path: 'body.content[1].url', message: 'cannot be fetched: its server responds with the status 500' },
      { path: 'body.content[2].url', message: 'cannot be fetched: it redirects to an address that is refused' },
    ])
    expect(await stored()).toEqual(before)
  })

  test('more than 16 images are rejected before the first is fetched', async () => {
    const content = Array.from({ length: 17 }, () => image('dot.png'))
    const problem = await expectJson(harness, 422, 'POST', '/v1/sessions/s/messages', { content })
    expect(problem['errors']).toMatchObject([{ path: 'body.content[16].url' }])
    expect(received).toBe(0)
  })

  test('a part with bytes and an address is rejected', async () => {
    const content = [{ ...image('dot.png'), data: PNG }]
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', { content })
    expect(problem['errors']).toHaveLength(1)
    expect(received).toBe(0)
  })
})

describe.each(FORMATS)('in $name', ({ path, body, field }) => {
  test('an address that has no image, or cannot be fetched, is rejected with its path; nothing is stored', async () => {
    const before = await stored()
    for (const [name, code] of [
      ['inwards.png', 'image_not_fetched'],
      ['gone.png', 'image_not_fetched'],
      ['page.png', 'invalid_media'],
    ]) {
      const problem = await (await harness.send('POST', path, body(`http://${server.host}/${name}`))).json()
      expect(problem, name).toMatchObject(
        path.startsWith('/openai')
          ? { error: { param: field, code } }
          : { status: 422, type: `urn:tooltrail:problem:${code}`, errors: [{ path: field }] },
      )
      expect(JSON.stringify(problem)).not.toContain('secret')
    }
    expect(await stored()).toEqual(before)
  })

  test('the model gets the bytes', async () => {
    const response = await harness.send('POST', path, body(`http://${server.host}/dot.png`))
    await response.text()
    expect(response.status).toBe(200)
    expect(sentImages()).toEqual([PNG])
  })
})

describe('the memory of images', () => {
  const MB = 1_000_000
  const png = Buffer.from(PNG, 'base64')
  const caller = { tenant: 'a', signal: new AbortController().signal }
  const part = { type: 'image', url: 'https://example.com/' } as const
  const closed: string[] = []
  /** Returns a source of images whose servers declare these sizes, in order. `reads` gets the limit of each read. */
  function source(sizes: readonly (number | undefined)[], reads: number[] = []) {
    const left = [...sizes]
    const open = async (): Promise<OpenImage> => ({
      bytes: left.shift(),
      read: async (limit) => (reads.push(limit), png),
      close: () => void closed.push('x'),
    })
    return { images: { open }, imageBudget: createImageBudget() }
  }
  const content = (count: number) => [{ path: 'body.content', field: 'url', parts: Array(count).fill(part) as [] }]

  test('images without a declared size get equal shares of the budget that the other images leave', async () => {
    const reads: number[] = []
    const all = source([10 * MB, undefined, undefined, undefined, undefined], reads)
    await withImages(all, caller, content(5), async () => undefined)
    expect(reads).toEqual([10 * MB, 12.5 * MB, 12.5 * MB, 12.5 * MB, 12.5 * MB])
  })

  test.each([
    ['one image above 20 MB', [1, 20 * MB + 1], 'body.content[1].url has more than 20 MB'],
    ['images above 60 MB together', [20 * MB, 20 * MB, 20 * MB, 1], 'body.content[3].url exceeds the limit of 60 MB'],
  ])('%s are not read, and their connections are closed', async (_what, sizes, message) => {
    closed.length = 0
    const accept = async (): Promise<never> => expect.fail('it was accepted')
    await expect(withImages(source(sizes), caller, content(sizes.length), accept)).rejects.toThrow(message)
    expect(closed).toHaveLength(sizes.length)
  })

  test('the images of a request wait until an earlier request of the tenant has stored its images', async () => {
    const all = source(Array.from({ length: 8 }, () => 20 * MB))
    const stored = Promise.withResolvers<void>()
    const order: string[] = []
    const first = withImages(all, caller, content(3), async () => stored.promise.then(() => order.push('first')))
    await new Promise(setImmediate)
    const second = withImages(all, caller, content(3), async () => order.push('second'))
    await withImages(all, { ...caller, tenant: 'b' }, content(1), async () => order.push('other tenant'))
    stored.resolve()
    await Promise.all([first, second])
    expect(order).toEqual(['other tenant', 'first', 'second'])
  })

  test('the open images of a request are closed if another of its images is unavailable', async () => {
    closed.length = 0
    const { images, imageBudget } = source([1])
    let opened = 0
    const open = async () => {
      if (opened++ > 0) throw new ImageUnavailable('cannot be fetched: it is gone')
      return images.open()
    }
    const accept = async (): Promise<never> => expect.fail('it was accepted')
    await expect(withImages({ images: { open }, imageBudget }, caller, content(2), accept)).rejects.toThrow(
      'it is gone',
    )
    expect(closed).toHaveLength(1)
  })
})
