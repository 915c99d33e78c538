import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { COPY_EXPIRY_MS } from '../../../../functions/domain/session.ts'
import { makeTool } from '../../../agent/harness.ts'
import { comparable, exportLines, type ExportedMessage } from '../../../e2e/backend/exported.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}
const at = (session: string, path = ''): string => `/v1/sessions/${session}${path}`
const create = (id: string): Promise<unknown> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const get = async (path: string): Promise<Response> => harness.send('GET', path)
const lines = (session: string, query = ''): Promise<ExportedMessage[]> => exportLines(get, session, query)
const post = <Body = Imported>(status: number, session: string, body: unknown, headers?: Record<string, string>) =>
  expectJson<Body>(harness, status, 'POST', at(session, '/import'), body, headers)

interface Imported {
  readonly messages: number
  readonly first: string | null
  readonly last: string | null
  readonly total?: number
}
interface Problem {
  readonly detail: string
  readonly errors: readonly { readonly path: string; readonly message: string }[]
}
const long = makeTool('long', async () => ({
  text: 'a line of the output\n'.repeat(5_000),
  sources: [
    { title: 'A page', url: 'https://example.com/', text: 'its text '.repeat(9_000) },
    { title: 'B', id: '7' },
  ],
  data: { pages: ['A page', 'B'] },
}))
const media = [{ type: 'image', mediaType: 'image/png', data: Buffer.from(PNG, 'base64') }] as const
const counts = makeTool('counts', async () => ({ text: '2', data: null, media }))
const fails = makeTool('fails', async () => {
  throw new Error('no such thing')
})

/** Writes a log with every kind of content: media, large and failed outputs, cancelled calls, text between calls. */
async function fill(): Promise<void> {
  await open({
    script: [
      {
        text: 'I look',
        calls: [
          { name: 'long' },
          { name: 'counts' },
          { name: 'fails', arguments: '{"a": 1.0}' },
          { name: 'gone', arguments: 'x{' },
        ],
      },
      { text: 'done' },
      { text: 'asking', calls: [{ name: 'ask' }] },
      { text: 'then not' },
    ],
    tools: [long, counts, fails],
  })
  const image = { type: 'image', media_type: 'image/png', filename: 'a.png', data: PNG }
  const first = { content: [{ type: 'text', text: 'see' }, image], user: 'ada', metadata: { ticket: 7 } }
  await expectJson(harness, 200, 'POST', at('s', '/messages'), first)
  const ask = { name: 'ask', description: 'Asks.', parameters: { type: 'object' } }
  await expectJson(harness, 200, 'POST', at('s', '/messages'), { content: 'ask', tools: [ask] })
  await expectJson(harness, 200, 'POST', at('s', '/messages'), { content: 'never mind' })
}

/** Rates the first answer negatively. */
async function rateAnswer(): Promise<void> {
  const answer = (await lines('s')).find(({ role }) => role === 'assistant')
  const feedback = { rating: 'negative', user: 'ann', at: Date.parse('2026-11-21T09:30:00Z') } as const
  await harness.ports.feedback.give({ tenant: 'default', session: 's' }, answer?.id ?? '', feedback)
}

describe('export', () => {
  test('native is lossless: an import into an empty session is exported again with equal content', async () => {
    await fill()
    await rateAnswer()
    const exported = await (await get(at('s', '/export'))).text()
    expect(exported.split('\n')[0]).toMatch(/^\{"object":"session","id":"s"/)
    await create('copy')
    const type = { 'content-type': 'application/x-ndjson' }
    const { messages } = await post(200, 'copy', exported, type)
    const [before, after] = [await lines('s'), await lines('copy')]
    expect(messages).toBe(before.length)
    expect(after.map(comparable)).toEqual(before.map(comparable))
    expect(after.flatMap(({ parts }) => parts.filter(({ type }) => type === 'data').map((part) => part.data))).toEqual([
      { pages: ['A page', 'B'] },
      null,
    ])
    expect(after[0]).toMatchObject({ created_at: before[0]?.created_at, recorded_at: expect.any(String) })
    // The JSON form has the same messages.
    await create('json')
    await post(200, 'json', { format: 'native', messages: before })
    expect((await lines('json')).map(comparable)).toEqual(before.map(comparable))
    expect(before.flatMap(({ feedback = [] }) => feedback)).toEqual([
      { rating: 'negative', user: 'ann', at: '2026-11-21T09:30:00.000Z' },
    ])
    const [whole] = before.filter(({ output }) => output?.offloaded)
    const found = after.find(({ output }) => output?.offloaded)
    expect(await (await get(found?.output?.url ?? '')).text()).toBe(whole?.parts[0]?.text)
    const chat = async (session: string) => (await get(at(session, '/messages?format=openai&limit=99'))).json()
    const pointers = /output:[0-9A-Z]{26}/g
    const text = (value: unknown): string => JSON.stringify(value).replaceAll(pointers, 'output')
    expect(text(await chat('copy'))).toBe(text(await chat('s')))
  })

  test('equals the message list in "openai", is a document in "markdown", and cannot be imported with "outputs=pointer"', async () => {
    await fill()
    const openai = await get(at('s', '/export?format=openai'))
    expect(openai.headers.get('content-type')).toBe('application/x-ndjson')
    const listed = (await (await get(at('s', '/messages?format=openai&limit=99'))).json()) as { data: unknown[] }
    expect(
      (await openai.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(listed.data)
    const page = await get(at('s', '/export?format=markdown'))
    expect(page.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(await page.text()).toContain('## Tool long (completed)')
    const pointed = await lines('s', '?outputs=pointer')
    expect(pointed.find(({ output }) => output?.offloaded)?.parts[0]?.text).toMatch(/\[Full output: output:/)
    await create('copy')
    const refused = await post<Problem>(422, 'copy', { format: 'native', messages: pointed })
    expect(refused.errors[0]?.path).toBe('body.messages[0].parts[1].data')
    const counted = pointed.findIndex(({ parts }) => parts.some((part) => part.type === 'data' && part.data === null))
    for (const parts of [[{ type: 'data', data: 'x'.repeat(262_144) }], [{ type: 'data' }]]) {
      const messages = (await lines('s')).map((one, place) => (place === counted ? { ...one, parts } : one))
      const wrong = await post<Problem>(422, 'copy', { format: 'native', messages })
      expect(wrong.errors[0]).toEqual({
        path: `body.messages[${counted}].parts[0].data`,
        message: 'must be a value of at most 256 KB of JSON',
      })
    }
    await expectJson(harness, 400, 'GET', at('s', '/export?format=pdf'))
    await expectJson(harness, 404, 'GET', at('unknown', '/export'))
  })
})

describe('fork', () => {
  const fork = <Body>(status: number, body: unknown): Promise<Body> =>
    expectJson<Body>(harness, status, 'POST', at('s', '/fork'), body)

  test('copies up to an input or the end of a run, with the outputs', async () => {
    await fill()
    const log = await lines('s')
    const inputs = log.filter(({ role }) => role === 'user')
    const made = await fork<{ id: string; forked_from: object }>(201, { id: 'f', through: inputs[1]?.id })
    expect(made).toMatchObject({ id: 'f', forked_from: { session_id: 's', message_id: inputs[1]?.id } })
    const count = log.findIndex(({ id }) => id === inputs[1]?.id) + 1
    expect((await lines('f')).map(comparable)).toEqual(log.slice(0, count).map(comparable))
    const whole = await fork<{ id: string }>(201, {})
    expect((await lines(whole.id)).map(comparable)).toEqual(log.map(comparable))
    await expectJson(harness, 200, 'DELETE', at('s'))
    const copied = (await lines('f')).find(({ output }) => output?.offloaded)
    expect(await (await get(copied?.output?.url ?? '')).text()).toHaveLength(105_000)
    await expectJson(harness, 200, 'POST', at('f', '/messages'), { content: 'go on' })
  })

  test.each(['first', 'second'])('leaves no partial copy after a kill before the %s step', async (killed) => {
    const time = { ahead: 0 }
    let left = Infinity
    await open({
      clock: { ...createSystemClock(), now: () => Date.now() + time.ahead },
      change: (ports) => ({
        ...ports,
        imports: {
          ...ports.imports,
          append: async (...step) => {
            if (left-- <= 0) throw new Error('the process was killed')
            return ports.imports.append(...step)
          },
        },
      }),
    })
    const turn = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Hello.' },
    ]
    await post(200, 's', { format: 'openai', messages: Array(40).fill(turn).flat() })
    left = killed === 'first' ? 0 : 1
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', body: '{}', headers }
    expect((await harness.program.app.request(`http://localhost:3000${at('s', '/fork')}`, request)).status).toBe(500)
    left = Infinity
    const { id } = await fork<{ id: string }>(201, {})
    const listed = async (): Promise<string[]> =>
      (await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions')).data.map((one) => one.id)
    expect(await listed()).toHaveLength(3)
    time.ahead = COPY_EXPIRY_MS
    await expect.poll(listed).toEqual([id, 's'])
    expect((await lines(id)).map(comparable)).toEqual((await lines('s')).map(comparable))
  })

  test('refuses messages inside a run, duplicate ids, and empty sessions', async () => {
    await fill()
    const log = await lines('s')
    const middle = log.find(({ role }) => role === 'tool')
    const refused = await fork<Problem>(422, { through: middle?.id })
    expect(refused.errors[0]?.path).toBe('body.through')
    await fork(422, { through: '01JD2Q8N4T6W8Y0A2C4E6G8J0K' })
    await fork(400, { through: 'x' })
    await fork(201, { id: 'f' })
    await fork(409, { id: 'f' })
    await fork(409, { id: 's' })
    await create('empty')
    await expectJson(harness, 422, 'POST', at('empty', '/fork'), {})
  })
})
