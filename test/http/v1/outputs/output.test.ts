import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Ports } from '../../../../functions/runtime/program.ts'
import { makeTool } from '../../../agent/harness.ts'
import { readRange } from '../../../../functions/http/v1/outputs/routes.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

const LARGE = `<script>alert(1)</script>\n${'äöü 0123456789\n'.repeat(75_000)}`
const LARGE_BYTES = Buffer.from(LARGE)
const tools = [
  makeTool('large', async () => ({ text: LARGE, mediaType: 'text/html' })),
  makeTool('small', async () => ({ text: 'hällo' })),
]

interface Message {
  readonly id: string
  readonly role: string
  readonly tool_name?: string
  readonly parts: readonly { readonly type: string; readonly text: string; readonly url?: string }[]
  readonly output?: {
    readonly url: string
    readonly bytes: number
    readonly offloaded: boolean
    readonly sha256: string
  }
}

const withLinks = (ports: Ports): Ports => ({
  ...ports,
  outputs: { ...ports.outputs, link: async (_key, name, disposition) => linked(name, disposition) },
})
/** Link that the store returns. */
let linked: (name: string, disposition: string) => string | undefined = () => undefined
let harness: HttpHarness
let messages: readonly Message[]
beforeAll(async () => {
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'large' }, { name: 'small' }] }, { text: 'ok' }],
    tools,
    change: withLinks,
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const run = await expectJson<{ messages: Message[] }>(harness, 200, 'POST', '/v1/sessions/s/messages', {
    content: 'hi',
  })
  ;({ messages } = run)
})
afterAll(() => harness.close())

const urlOf = (tool: string): string => messages.find((message) => message.tool_name === tool)?.output?.url ?? ''
const get = (url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  harness.send(method, url, undefined, headers)

describe('a file of a tool', () => {
  test.each([['text/plain\r\nx-evil: 1'], ['звук/wav'], [`audio/${'x'.repeat(5_000)}`]])(
    'with the media type %.30j is stored as bytes of an unknown type, and can be downloaded',
    async (mediaType) => {
      const data = Buffer.from('hello')
      const listen = makeTool('listen', async () => ({ text: 'heard', media: [{ type: 'file', mediaType, data }] }))
      const own = await openHttpHarness({ script: [{ calls: [{ name: 'listen' }] }, { text: 'ok' }], tools: [listen] })
      try {
        await expectJson(own, 201, 'POST', '/v1/sessions', { id: 's' })
        const run = await expectJson<{ status: string; messages: Message[] }>(
          own,
          200,
          'POST',
          '/v1/sessions/s/messages',
          { content: 'hi' },
        )
        expect(run.status).toBe('completed')
        const part = run.messages.flatMap(({ parts }) => parts).find(({ type }) => type === 'file')
        expect(part).toMatchObject({ media_type: 'application/octet-stream' })
        const response = await own.send('GET', part?.url ?? '')
        expect([response.status, await response.text()]).toEqual([200, 'hello'])
        expect(response.headers.get('content-type')).toBe('application/octet-stream')
      } finally {
        await own.close()
      }
    },
  )
})

describe('an output', () => {
  test('is answered with 304 if it is unchanged, and with a range only if the tag still matches', async () => {
    const etag = `"${messages.find((message) => message.tool_name === 'large')?.output?.sha256}"`
    const same = await get(urlOf('large'), { 'if-none-match': `"other", W/${etag}` })
    expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, ''])
    const other = await get(urlOf('large'), { 'if-none-match': '"other"', range: 'bytes=0-9', 'if-range': '"other"' })
    expect([other.status, other.headers.get('content-length')]).toEqual([200, String(LARGE_BYTES.length)])
    const part = await get(urlOf('large'), { range: 'bytes=0-9', 'if-range': etag })
    expect([part.status, part.headers.get('etag')]).toEqual([206, etag])
  })

  test('that is offloaded is sent completely, as an attachment that no browser executes', async () => {
    const large = messages.find((message) => message.tool_name === 'large')
    expect(large?.output).toMatchObject({ offloaded: true, bytes: LARGE_BYTES.length })
    expect(large?.parts[0]?.text.length).toBeLessThan(700)
    const response = await get(urlOf('large'))
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer()).equals(LARGE_BYTES)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-length': String(LARGE_BYTES.length),
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': expect.stringMatching(/^attachment; /) as string,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'accept-ranges': 'bytes',
    })
  })

  test('that is small is read from its row', async () => {
    const response = await get(urlOf('small'))
    expect(await response.text()).toBe('hällo')
    expect(response.headers.get('content-length')).toBe('6')
  })

  test.each(['large', 'small'])('that is %s is returned in the requested range', async (tool) => {
    const whole = tool === 'large' ? LARGE_BYTES : Buffer.from('hällo')
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=1-3', 1, 3],
      ['bytes=2-', 2, whole.length - 1],
      ['bytes=-2', whole.length - 2, whole.length - 1],
      ['bytes=0-99999999', 0, whole.length - 1],
    ] as const) {
      const response = await get(urlOf(tool), { range })
      expect(response.status).toBe(206)
      expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/${whole.length}`)
      expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(start, end + 1))).toBe(true)
    }
  })

  test('is sent in large chunks to its first few readers, and in small chunks to all others', async () => {
    const begin = async () => {
      const pieces = (await get(urlOf('large'))).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
      const { value } = await pieces.read()
      return { bytes: value?.length, leave: () => pieces.cancel() }
    }
    const first = await Promise.all(Array.from({ length: 16 }, begin))
    expect(new Set(first.map(({ bytes }) => bytes))).toEqual(new Set([512 * 1024]))
    const other = await begin()
    expect(other.bytes).toBe(32 * 1024)
    await first[0]?.leave()
    const next = await begin()
    expect(next.bytes).toBe(512 * 1024)
    for (const { leave } of [...first, other, next]) await leave()
  })

  test('refuses a range beyond its end', async () => {
    const response = await get(urlOf('small'), { range: 'bytes=6-' })
    expect(response.status).toBe(416)
    expect(response.headers.get('content-range')).toBe('bytes */6')
    expect(response.headers.get('content-type')).toBe('application/problem+json')
  })

  test.each(['bytes=a-b', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=3-1', 'bytes=-', ''])(
    'is sent completely if the range is %j',
    async (range) => {
      const response = await get(urlOf('small'), { range })
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('hällo')
    },
  )

  test('responds to HEAD with only its length', async () => {
    const response = await get(urlOf('large'), {}, 'HEAD')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe(String(LARGE_BYTES.length))
    expect(await response.text()).toBe('')
  })

  test('requested by link is sent directly if the store has no links, and by redirect otherwise', async () => {
    const through = `${urlOf('large')}?via=link`
    const whole = await get(through)
    expect([whole.status, (await whole.arrayBuffer()).byteLength]).toEqual([200, LARGE_BYTES.length])
    linked = (name, disposition) => `https://store.example/${name}?${new URLSearchParams({ disposition }).toString()}`
    const redirect = await get(through)
    const [, small, head, plain] = await Promise.all([
      redirect.text(),
      get(`${urlOf('small')}?via=link`),
      get(through, {}, 'HEAD'),
      get(urlOf('large')),
    ])
    linked = () => undefined
    expect([redirect.status, small.status, head.status, plain.status]).toEqual([307, 200, 200, 200])
    const location = new URL(redirect.headers.get('location') ?? '')
    expect(location.origin).toBe('https://store.example')
    expect(location.searchParams.get('disposition')).toMatch(/^attachment; filename="/)
    expect(redirect.headers.get('cache-control')).toBe('no-store')
    await expectJson(harness, 400, 'GET', `${urlOf('large')}?via=carrier-pigeon`)
    await expectJson(harness, 404, 'GET', `${through}&part=01JD2Q8N4T6W8Y0A2C4E6G8J0K`)
  })

  test('that does not exist gets 404', async () => {
    const [user] = messages
    await expectJson(harness, 404, 'GET', `/v1/sessions/s/messages/${user?.id}/output`)
    await expectJson(harness, 404, 'GET', '/v1/sessions/s/messages/01JD2Q8N4T6W8Y0A2C4E6G8J0K/output')
    await expectJson(harness, 404, 'GET', `${urlOf('small')}?part=01JD2Q8N4T6W8Y0A2C4E6G8J0K`)
    await expectJson(harness, 400, 'GET', `${urlOf('small')}?part=..`)
    await expectJson(harness, 404, 'GET', '/v1/sessions/s/messages/nothing/output')
    expect((await get(urlOf('small').replace('/s/', '/t/'))).status).toBe(404)
  })
})

describe('a range', () => {
  test.each([
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-1', 0, 'unsatisfiable'],
    ['bytes=-0', 5, 'unsatisfiable'],
    ['bytes=-9', 5, { start: 0, end: 4 }],
    ['BYTES=1-2', 5, { start: 1, end: 2 }],
    [undefined, 5, 'whole'],
  ] as const)('%s of %d bytes is %j', (header, size, range) => {
    expect(readRange(header, size)).toEqual(range)
  })
})
