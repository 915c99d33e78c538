/* Evidence, api: Bytes that are not an image of the named type are refused with their path. */
/* Evidence, api: Media of a refused or repeated input do not stay in the store. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { PNG } from '../../../fixtures/png.ts'

/** The first bytes of a one-pixel bitmap. */
const BMP = Buffer.from('BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28', 'latin1').toString('base64')

interface Message {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly text?: string; readonly url?: string }[]
  readonly [field: string]: unknown
}

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}

describe('images and files', () => {
  test('are stored under their sniffed type, shown without a note, and downloaded as attachments', async () => {
    await open({ script: [{ text: 'A dot.' }] })
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', {
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'file', media_type: 'application/octet-stream', filename: 'dot "1" é.png', data: PNG },
      ],
    })
    const [message] = run['messages'] as Message[]
    expect(message?.parts).toMatchObject([
      { type: 'text' },
      { type: 'image', media_type: 'image/png', filename: 'dot "1" é.png', bytes: 70 },
    ])
    expect(JSON.stringify(message)).not.toContain('system_note')
    const response = await harness.send('GET', message?.parts[1]?.url ?? '')
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer()).toString('base64')).toBe(PNG)
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="dot _1_ _.png"; filename*=UTF-8''dot%20%221%22%20%C3%A9.png`,
    )
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  })

  test('of an input that is rejected, or repeats an accepted one, do not stay in the store', async () => {
    const objects: string[] = []
    await open({
      settings: { caps: { keys: {}, tenants: { tokensPerDay: 1 } } },
      change: (ports) => ({
        ...ports,
        outputs: {
          ...ports.outputs,
          put: (key, name, ...content) => {
            objects.push(name)
            return ports.outputs.put(key, name, ...content)
          },
        },
      }),
    })
    const content = [{ type: 'file', media_type: 'image/png', data: PNG }]
    const post = (headers: Record<string, string>) =>
      harness.send('POST', '/v1/sessions/s/messages', { content }, headers)
    expect((await post({ 'idempotency-key': 'k' })).status).toBe(200)
    expect((await post({ 'idempotency-key': 'k' })).status).toBe(200)
    expect((await post({})).status).toBe(429)
    const key = { tenant: 'default', session: 's' }
    const left = await Promise.all(objects.map((name) => harness.ports.outputs.stat(key, name)))
    expect(left.map((found) => found !== undefined)).toEqual([true, false, false])
  })
})

test.each([
  ['text', Buffer.from('no image at all').toString('base64')],
  ['a PDF', Buffer.from('%PDF-1.7 and more of it').toString('base64')],
  ['another image than it says', Buffer.from('GIF89a and more of it').toString('base64')],
  ['of a type that is none', PNG, 'image/foo'],
  ['of a type that is none, and rare', BMP, 'image/foo'],
])(
  'an image that is %s is rejected with its path, at any position, and nothing is stored',
  async (_what, data, type = 'image/png') => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'ask' }] }, { text: 'done' }] })
    const content = [{ type: 'text', text: 'x' } as const, { type: 'image', media_type: type, data }]
    const problem = await expectJson(harness, 422, 'POST', '/v1/sessions/s/messages', { content })
    expect(problem).toMatchObject({
      type: expect.stringMatching(/invalid_media$/),
      errors: [{ path: 'body.content[1].data' }],
    })
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs')).toMatchObject({ data: [] })

    const tools = [{ name: 'ask', description: '', parameters: {} }]
    const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', {
      content: 'x',
      tools,
    })
    const path = `/v1/sessions/s/runs/${id}/tool-results`
    const refused = await expectJson(harness, 422, 'POST', path, { results: [{ tool_call_id: 'c1', output: content }] })
    expect(refused).toMatchObject({ errors: [{ path: 'body.results[0].output[1].data' }] })
    const run = await expectJson(harness, 200, 'POST', path, { results: [{ tool_call_id: 'c1', output: 'ok' }] })
    expect(run).toMatchObject({ status: 'completed', usage: { by_agent: { default: {} } } })
    expect((run['messages'] as Message[]).find(({ role }) => role === 'tool')).toBeUndefined()
    const log = await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    expect(log).toMatchObject({ data: [{ status: 'completed', duration_ms: expect.any(Number) as number }] })
  },
)

test.each(['image/bmp', 'image/x-ms-bmp', 'IMAGE/X-BMP'])(
  "each name of an image's media type is accepted: %s",
  async (type) => {
    await open({ script: [{ text: 'done' }] })
    const content = [{ type: 'image', media_type: type, data: BMP }]
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content })
  },
)

test('an input is refused if its agent must call an unknown tool', async () => {
  await open({ policies: { requireTool: { name: 'look' } }, script: [{ calls: [{ id: 'c1', name: 'look' }] }] })
  const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', { content: 'x' })
  expect(problem['errors']).toMatchObject([{ path: 'body.tools' }])
  const tools = [{ name: 'look', description: '', parameters: {} }]
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
})
