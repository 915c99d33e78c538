import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { exportLines, type ExportedMessage } from '../../../e2e/backend/exported.ts'

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}
const at = (session: string, path = ''): string => `/v1/sessions/${session}${path}`
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
interface Hits {
  readonly data: readonly { readonly created_at: string; readonly label: string; readonly snippet: string }[]
}

const SAID = [
  { role: 'user', content: 'Which ffmpeg command was it?', created_at: '2025-03-01T10:00:00+02:00' },
  {
    role: 'assistant',
    content: 'I look.',
    tool_calls: [
      { id: 'c', type: 'function', function: { name: 'shell', arguments: '{"cmd": "history | grep ffmpeg"}' } },
      { id: 'c', type: 'function', function: { name: 'shell', arguments: '{' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c', content: 'ffmpeg -i a.mov b.mp4', created_at: '2025-03-01T08:00:05Z' },
  { role: 'user', content: 'Thanks', name: 'ada' },
  { role: 'assistant', content: null },
]

describe('import', () => {
  test('ends turns, keeps times, and its messages can be searched at once', async () => {
    await open()
    const done = await post(200, 's', { format: 'openai', messages: SAID, source: 'notes.json' })
    expect(done).toEqual({ object: 'import', messages: 6, first: expect.any(String), last: expect.any(String) })
    const log = await lines('s')
    expect(log.map(({ role, status, created_at: created }) => [role, status, created.slice(0, 10)])).toEqual([
      ['user', undefined, '2025-03-01'],
      ['assistant', undefined, expect.any(String)],
      ['tool', 'completed', expect.any(String)],
      ['tool', 'interrupted', expect.any(String)],
      ['user', undefined, expect.any(String)],
      ['assistant', undefined, expect.any(String)],
    ])
    expect(log[0]?.created_at).toBe('2025-03-01T08:00:00.000Z')
    expect(log[1]?.tool_calls?.map(({ id }) => id)).toEqual(['c', 'call_1'])
    const found = await expectJson<Hits>(harness, 200, 'GET', '/v1/search?q=ffmpeg+mov&until=2025-03-02T00:00:00Z')
    expect(found.data[0]).toMatchObject({ label: 'TOOL RESULT', created_at: '2025-03-01T08:00:05.000Z' })
    const later = await expectJson<Hits>(harness, 200, 'GET', '/v1/search?q=mov&since=2025-03-02T00:00:00Z')
    expect(later.data).toEqual([])
    const runs = await expectJson<{ data: object[] }>(harness, 200, 'GET', at('s', '/runs'))
    expect(runs.data).toMatchObject([
      { status: 'completed', stop_reason: 'imported', source: 'notes.json', rounds: 1 },
      { status: 'completed', stop_reason: 'imported', rounds: 1 },
    ])
    expect(await expectJson(harness, 200, 'GET', at('s'))).toMatchObject({ run: null, usage: { runs: 0, rounds: 0 } })
    // The next request has the old turns, whole and valid.
    await expectJson(harness, 200, 'POST', at('s', '/messages'), { content: 'go on' })
    expect(harness.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
      'user',
    ])
  })

  test.each([
    ['a role that is none', { role: 'robot', content: 'x' }, 'body.messages[1].role'],
    ['instructions', { role: 'system', content: 'x' }, 'body.messages[1].role'],
    ['a result without its call', { role: 'tool', tool_call_id: 'zzz', content: 'x' }, 'body.messages[1].tool_call_id'],
    [
      'a time without a zone',
      { role: 'user', content: 'x', created_at: '2025-03-01 10:00' },
      'body.messages[1].created_at',
    ],
    [
      'a time before all times',
      { role: 'user', content: 'x', created_at: '1815-12-10T00:00:00Z' },
      'body.messages[1].created_at',
    ],
    [
      'a call of an older version, which would be lost',
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      'body.messages[1].function_call',
    ],
    ['content that is none', { role: 'user', content: 7 }, 'body.messages[1].content'],
    ['a user who says nothing', { role: 'user' }, 'body.messages[1].content'],
    ['a user who says null', { role: 'user', content: null }, 'body.messages[1].content'],
    ['a result that says nothing', { role: 'tool', tool_call_id: 'c' }, 'body.messages[1].content'],
    ['a completion without anything', { role: 'assistant', tool_calls: [] }, 'body.messages[1].content'],
    [
      'a part of another type',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'input_audio', input_audio: {} },
        ],
      },
      'body.messages[1].content[1].type',
    ],
    [
      'a file that has no bytes',
      { role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: '{a file}' } }] },
      'body.messages[1].content[0].file.file_data',
    ],
    [
      'a data URL that is broken',
      { role: 'user', content: [{ type: 'image_url', image_url: 'data:image/png;base64,%zz' }] },
      'body.messages[1].content[0].image_url',
    ],
    ['a text that is none', { role: 'assistant', content: [{ type: 'text' }] }, 'body.messages[1].content[0].text'],
    [
      'calls without a name',
      { role: 'assistant', tool_calls: [{ id: 'a', function: {} }] },
      'body.messages[1].tool_calls[0].function.name',
    ],
  ])('rejects %s completely, with its path', async (_what, bad, path) => {
    await open()
    const refused = await post<Problem>(422, 's', { format: 'openai', messages: [SAID[0], bad, SAID[3]] })
    expect(refused.errors.map((error) => error.path)).toEqual([path])
    expect(refused.errors[0]?.message).not.toBe('Invalid input')
    expect(await lines('s')).toEqual([])
  })

  test.each([['text/plain\r\nx-evil: 1'], ['звук/wav'], ['wav'], [`audio/${'x'.repeat(200)}`]])(
    'rejects the media type %j with its path',
    async (type) => {
      await open()
      const file = { type: 'file', media_type: type, data: 'aGVsbG8=' }
      const call = { id: 'c', name: 'look', arguments: '{}' }
      const log = [
        { role: 'user', parts: [file] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c' }], tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', parts: [], output: { media_type: type } },
      ]
      for (const [at, path] of [
        [0, 'body.messages[0].parts[0].media_type'],
        [2, 'body.messages[2].output.media_type'],
      ] as const) {
        const messages = log.map((one, place) =>
          place === at ? one : { ...one, ...('output' in one ? { output: undefined } : { parts: [] }) },
        )
        const refused = await post<Problem>(422, 's', { format: 'native', messages })
        expect(refused.errors).toEqual([{ path, message: 'must be a media type, such as text/plain' }])
      }
      expect(await lines('s')).toEqual([])
    },
  )

  test('rejects a call part whose call is not in its message', async () => {
    await open()
    const ghost = { role: 'assistant', parts: [{ type: 'tool_call', id: 'ghost' }] }
    const refused = await post<Problem>(422, 's', { format: 'native', messages: [ghost] })
    expect(refused.errors.map(({ path }) => path)).toEqual(['body.messages[0].parts'])
  })

  test('rejects a rating by a user with more than 256 characters', async () => {
    await open()
    const rating = { rating: 'positive', at: '2026-11-21T09:30:00Z' }
    const rated = (user: string) => [{ role: 'assistant', parts: [], feedback: [{ ...rating, user }] }]
    const refused = await post<Problem>(422, 's', { format: 'native', messages: rated('評'.repeat(257)) })
    expect(refused.errors[0]?.path).toBe('body.messages[0].feedback[0].user')
    await post(200, 's', { format: 'native', messages: rated('評'.repeat(256)) })
  })

  test('rejects invalid bodies', async () => {
    await open()
    await post(400, 's', { format: 'xml', messages: [] })
    await post(400, 's', { messages: [] })
    await post(400, 's', '')
    await post(400, 's', { format: 'openai', messages: SAID, from: 3 })
    await post(404, 'unknown', { format: 'openai', messages: SAID })
    const type = { 'content-type': 'application/x-ndjson' }
    const inQuery = await harness.send('POST', '/v1/sessions/s/import?from=3', '{"role":"user","parts":[]}', type)
    expect(await inQuery.json()).toMatchObject({ status: 400, errors: [{ path: 'query.from' }] })
    for (const text of ['{"role":', '\u0000', `${'['.repeat(70)}${']'.repeat(70)}`])
      expect((await post<Problem>(400, 's', `{"role":"user","parts":[]}\n${text}\n`, type)).detail).toMatch(/line 2/)
    const torn = new Uint8Array([...Buffer.from('{"role":"user","parts":[{"type":"text","text":"'), 0xff, 0x22])
    expect((await post<Problem>(400, 's', torn, type)).detail).toMatch(/line 1 is not UTF-8/)
    expect(await lines('s')).toEqual([])
  })

  test('changes nothing when it is repeated under its key; another body is a conflict', async () => {
    await open()
    const key = { 'idempotency-key': 'k' }
    const first = await post(200, 's', { format: 'openai', messages: SAID }, key)
    expect(await post(200, 's', { format: 'openai', messages: SAID }, key)).toEqual(first)
    expect(await lines('s')).toHaveLength(6)
    await post(409, 's', { format: 'openai', messages: SAID.slice(0, 1) }, key)
    await post(200, 's', { format: 'openai', messages: SAID })
    expect(await lines('s')).toHaveLength(12)
  })

  test("with a position in its source stores only the new messages and continues the source's run", async () => {
    await open()
    const body = (count: number, from = 0) => ({
      format: 'openai',
      source: 'f',
      from,
      messages: SAID.slice(from, count),
    })
    expect(await post(200, 's', body(0))).toEqual({ object: 'import', messages: 0, first: null, last: null, total: 0 })
    // The import adds a result to a call without one. The added result counts as a message.
    expect(await post(200, 's', body(3))).toMatchObject({ messages: 4, total: 4 })
    expect(await post(200, 's', { ...body(3), messages: [...SAID.slice(0, 3), SAID[4]] })).toMatchObject({
      messages: 1,
      total: 5,
    })
    expect(await post(200, 's', { ...body(3), messages: [...SAID.slice(0, 3), SAID[4]] })).toMatchObject({
      messages: 0,
    })
    const runs = new Set((await lines('s')).map(({ run_id: run }) => run))
    expect(runs.size).toBe(1)
    await post(409, 's', { ...body(3), from: 6 })
    await post(400, 's', body(3), { 'idempotency-key': 'k' })
  })

  test('is refused permanently if a message of its source has gained calls since that message was stored', async () => {
    await open()
    const said = (...ids: string[]) => [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'I look', ...(ids.length > 0 && { tool_calls: ids.map(callNamed) }) },
      ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'found' })),
    ]
    const callNamed = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })
    const source = { format: 'openai', source: 'f', from: 0 }
    await post(200, 's', { ...source, messages: said() })
    expect(await post<Problem>(409, 's', { ...source, messages: said('t1') })).toMatchObject({
      type: 'urn:tooltrail:problem:import_changed',
      detail: expect.stringContaining('no call "t1"') as string,
    })
    expect(await lines('s')).toHaveLength(2)
  })

  test('is refused while a run is active', async () => {
    await open({ script: [{ text: '', calls: [{ name: 'ask' }] }] })
    const ask = { name: 'ask', description: 'Asks.', parameters: { type: 'object' } }
    await expectJson(harness, 200, 'POST', at('s', '/messages'), { content: 'ask', tools: [ask] })
    expect(await post<Problem>(409, 's', { format: 'openai', messages: SAID })).toMatchObject({
      type: 'urn:tooltrail:problem:session_busy',
    })
  })

  test('keeps lines that are longer than a JSON body may be, and 500 further messages', async () => {
    await open()
    const big = 'x'.repeat(6_000_000)
    const many = Array.from({ length: 500 }, (_, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `m${n}` }))
    const text = [{ role: 'user', content: big }, ...many].map((one) => JSON.stringify(one)).join('\n')
    const type = { 'content-type': 'application/x-ndjson' }
    const path = at('s', '/import?format=openai')
    expect(await expectJson(harness, 200, 'POST', path, text, type)).toMatchObject({ messages: 501 })
    const log = await lines('s')
    expect(log[0]?.parts[0]?.text).toBe(big)
    expect(log.slice(1).map(({ parts }) => parts[0]?.text)).toEqual(many.map(({ content }) => content))
  })

  test('respects tenant, owner and scope', async () => {
    await open()
    const admin = await harness.key()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'bob', owner: 'bob' }, admin)
    const ada = await harness.key({ owner: 'ada' })
    const other = await harness.key({ tenant: 'other' })
    const reader = await harness.key({ scopes: ['read'] })
    const body = { format: 'openai', messages: SAID }
    for (const key of [ada, other]) {
      await post(404, 'bob', body, key)
      await expectJson(harness, 404, 'GET', at('bob', '/export'), undefined, key)
      await expectJson(harness, 404, 'POST', at('bob', '/fork'), {}, key)
    }
    await post(403, 'bob', body, reader)
    expect((await harness.send('GET', at('bob', '/export'), undefined, reader)).status).toBe(200)
  })
})
