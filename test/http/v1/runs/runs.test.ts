/* Evidence, api: A client that answers a pause and then follows the run gets only the pause that ends the stream. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, heldTurn, openHttpHarness, type HttpHarness } from '../../harness.ts'
import { makeTool } from '../../../agent/harness.ts'

const tools = [
  { name: 'weather', description: 'The weather.', parameters: { type: 'object' } },
  { name: 'time', description: 'The time.', parameters: { type: 'object' } },
]
const twoCalls = {
  calls: [
    { id: 'c1', name: 'weather', arguments: '{"city": "Ghent"}' },
    { id: 'c2', name: 'time', arguments: 'not json' },
  ],
}
const UNKNOWN = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'

interface Run {
  readonly id: string
  readonly status: string
  readonly messages?: readonly { id: string; role: string; parts: unknown; status?: string; tool_call_id?: string }[]
}

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}
const send = async (body: unknown, headers: Record<string, string> = {}, status = 200): Promise<Run> =>
  (await expectJson(harness, status, 'POST', '/v1/sessions/s/messages', body, headers)) as Run
const expectResults = async (run: Run, results: unknown, status = 200): Promise<Run> =>
  (await expectJson(harness, status, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, { results })) as Run

describe('a run with client tools', () => {
  test('pauses with the waiting calls, and continues after the last result', async () => {
    await open({ script: [twoCalls, { text: 'Sunny at noon.' }] })
    const paused = await send({ content: 'Weather and time?', tools })
    expect(paused).toMatchObject({
      status: 'paused',
      waiting: [
        { tool_call_id: 'c1', tool_name: 'weather', arguments: '{"city": "Ghent"}', needs: 'result' },
        { tool_call_id: 'c2', tool_name: 'time', arguments: 'not json', needs: 'result' },
      ],
    })
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${paused.id}`)).toMatchObject({
      status: 'paused',
      waiting: [{ tool_call_id: 'c1' }, { tool_call_id: 'c2' }],
    })
    const half = await expectResults(paused, [{ tool_call_id: 'c1', output: 'Sunny' }])
    expect(half).toMatchObject({ id: paused.id, status: 'paused', waiting: [{ tool_call_id: 'c2' }], messages: [] })
    const done = await expectResults(paused, [{ tool_call_id: 'c2', error: 'the clock is broken' }])
    expect(done).toMatchObject({
      id: paused.id,
      status: 'completed',
      waiting: [],
      messages: [{ role: 'assistant', parts: [{ type: 'text', text: 'Sunny at noon.' }] }],
    })
    const log = await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    expect(log['data']).toMatchObject([
      { status: 'completed', parts: [{ text: 'Sunny' }] },
      { status: 'error', parts: [{ text: 'the clock is broken' }] },
    ])
  })

  test('accepts a result twice, but rejects a different result, and results for closed calls', async () => {
    await open({ script: [twoCalls, { text: 'ok' }] })
    const run = await send({ content: 'go', tools })
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Sunny' }])
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Sunny' }])
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Rain' }], 409)
    await expectResults(run, [{ tool_call_id: 'c2', approve: true }], 409)
    await expectResults(run, [{ tool_call_id: 'c3', output: '' }], 404)
    await expectResults(run, Array(2).fill({ tool_call_id: 'c2', output: 'Noon' }), 409)
    await expectResults(run, [{ tool_call_id: 'c2', output: 'Noon' }])
    await expectResults(run, [{ tool_call_id: 'c2', output: 'Noon' }])
    await expectResults(run, [{ tool_call_id: 'c2', output: 'Midnight' }], 409)
  })

  test('accepts no result for a server tool, even if a client call with the same id waits', async () => {
    const here = { name: 'here', id: 'c1' }
    await open({
      script: [
        {
          calls: [
            { name: 'weather', id: 'c1' },
            { name: 'here', id: 'c2' },
          ],
        },
        { calls: [here] },
        { text: 'ok' },
      ],
      tools: [makeTool('here', async () => ({ text: 'done' }))],
    })
    const run = await send({ content: 'go', tools })
    const problem = await expectJson(harness, 409, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, {
      results: [{ tool_call_id: 'c2', output: 'mine' }],
    })
    expect(problem['detail']).toContain('executed here')
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Sunny' }])
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Sunny' }])
    await expectResults(run, [{ tool_call_id: 'c1', output: 'Rain' }], 409)
  })

  test('stores any JSON value as text, with its number spellings', async () => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'time' }] }, { text: 'ok' }] })
    const run = await send({ content: 'go', tools })
    const body = '{"results":[{"tool_call_id":"c1","output":{"id":12345678901234567890,"rate":1.50,"none":null}}]}'
    await expectJson(harness, 200, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, body)
    const log = await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    expect(log['data']).toMatchObject([{ parts: [{ text: '{"id":12345678901234567890,"rate":1.50,"none":null}' }] }])
  })

  test('accepts a list of parts as parts, and any other list as JSON', async () => {
    await open({ script: [twoCalls, { text: 'ok' }] })
    const run = await send({ content: 'go', tools })
    await expectResults(run, [
      {
        tool_call_id: 'c1',
        output: [
          { type: 'text', text: 'Sunny' },
          { type: 'file', media_type: 'text/csv', data: 'YSxi' },
        ],
      },
      { tool_call_id: 'c2', output: ['noon'] },
    ])
    const log = await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    expect(log['data']).toMatchObject([
      {
        parts: [
          { type: 'text', text: 'Sunny' },
          { type: 'file', media_type: 'text/csv', bytes: 3 },
        ],
      },
      { parts: [{ type: 'text', text: '["noon"]' }] },
    ])
  })

  test('accepts results and streams its further events in response to one request', async () => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'time' }] }, { text: 'Noon.' }] })
    const run = await send({ content: 'go', tools })
    const response = await harness.send(
      'POST',
      `/v1/sessions/s/runs/${run.id}/tool-results`,
      { results: [{ tool_call_id: 'c1', output: 'noon' }] },
      { accept: 'text/event-stream' },
    )
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const text = await response.text()
    expect(text).toContain('event: tool_call.completed')
    expect(text.trim().split('\n\n').at(-1)).toContain('event: run.completed')
    expect(text).not.toContain('event: run.started')
    // A client that stops following at a pause would miss the answer.
    expect(text).not.toContain('event: run.paused')
  })

  test.each([
    ['no results', {}, 'body.results'],
    ['an empty list', { results: [] }, 'body.results'],
    [
      'more than 64',
      { results: Array.from({ length: 65 }, (_, id) => ({ tool_call_id: `c${id}`, error: '' })) },
      'body.results',
    ],
    ['a result without a call', { results: [{ output: 'x' }] }, 'body.results[0].message_id'],
    ['a result without anything', { results: [{ tool_call_id: 'c1' }] }, 'body.results[0]'],
    ['a result with two things', { results: [{ tool_call_id: 'c1', output: '', error: '' }] }, 'body.results[0]'],
    ['an error that is no string', { results: [{ tool_call_id: 'c1', error: 1 }] }, 'body.results[0].error'],
    [
      'an approval that is no boolean',
      { results: [{ tool_call_id: 'c1', approve: 'yes' }] },
      'body.results[0].approve',
    ],
    [
      'media that is not base64',
      { results: [{ tool_call_id: 'c1', output: [{ type: 'image', media_type: 'image/png', data: '#' }] }] },
      'body.results[0].output[0].data',
    ],
  ])('rejects %s with the path of the mistake', async (_name, body, path) => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'time' }] }] })
    const run = await send({ content: 'go', tools })
    const problem = await expectJson(harness, 400, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, body)
    expect((problem['errors'] as { path: string }[])[0]?.path).toBe(path)
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${run.id}`)).toMatchObject({ status: 'paused' })
  })
})

describe('a call that needs approval', () => {
  const careful = makeTool('careful', async () => ({ text: 'did it' }), { needsApproval: true })
  test.each([
    [true, 'completed', 'did it'],
    [false, 'denied', 'denied: the user did not allow this call'],
  ])('whose approval is set to %s ends with the status %s', async (approve, status, text) => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'careful' }] }, { text: 'ok' }], tools: [careful] })
    const run = await send({ content: 'go' })
    expect(run).toMatchObject({ status: 'paused', waiting: [{ tool_call_id: 'c1', needs: 'approval' }] })
    expect(await expectResults(run, [{ tool_call_id: 'c1', approve }])).toMatchObject({ status: 'completed' })
    const log = await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    expect(log['data']).toMatchObject([{ status, parts: [{ text }] }])
  })
})

describe('runs', () => {
  test('are listed newest first, in pages, by status', async () => {
    await open()
    const ids: string[] = []
    for (const content of ['a', 'b', 'c']) ids.unshift((await send({ content })).id)
    const page = await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs?limit=2')
    expect((page['data'] as Run[]).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    const rest = await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs?limit=2&after=${String(page['next'])}`)
    expect(rest).toMatchObject({ data: [{ id: ids[2] }], next: null, has_more: false })
    expect((await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs?status=failed'))['data']).toEqual([])
  })

  test.each(['limit=0', 'limit=101', 'status=merged', 'unknown=1'])('with %s are rejected', async (query) => {
    await open()
    await expectJson(harness, 400, 'GET', `/v1/sessions/s/runs?${query}`)
  })

  test('get 404 on every path if they do not exist', async () => {
    await open()
    const path = `/v1/sessions/s/runs/${UNKNOWN}`
    await expectJson(harness, 404, 'GET', path)
    await expectJson(harness, 404, 'GET', `${path}/events`)
    await expectJson(harness, 404, 'POST', `${path}/cancel`)
    await expectJson(harness, 404, 'POST', `${path}/tool-results`, { results: [{ tool_call_id: 'c', output: '' }] })
    await expectJson(harness, 404, 'GET', '/v1/sessions/s/runs/nothing')
  })

  test('that were merged into another run show its messages, with both inputs', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = makeTool('slow', async () => promise.then(() => ({ text: 'ok' })))
    await open({ script: [{ calls: [{ id: 'c1', name: 'slow' }] }, { text: 'both' }], tools: [slow] })
    await send({ content: 'one' }, { prefer: 'wait=0' }, 202)
    await expect.poll(() => harness.requests.length).toBe(1)
    const second = await send({ content: 'two', on_busy: 'steer' }, { prefer: 'wait=0' }, 202)
    resolve()
    await expect
      .poll(async () => (await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${second.id}`))['status'])
      .toBe('completed')
    const path = `/v1/sessions/s/messages?roles=user&order=asc&run=${second.id}`
    const { data } = await expectJson<{ data: { parts: unknown }[] }>(harness, 200, 'GET', path)
    expect(data.map(({ parts }) => parts)).toEqual([[{ type: 'text', text: 'one' }], [{ type: 'text', text: 'two' }]])
  })

  test('merged into another run report its status under their own id', async () => {
    const held = heldTurn()
    const echo = makeTool('echo', async () => ({ text: 'ok' }))
    await open({ script: [held.turn, { text: 'both' }], tools: [echo] })
    const first = await send({ content: 'one' }, { prefer: 'wait=0' }, 202)
    const second = await send({ content: 'two', on_busy: 'steer' }, { prefer: 'wait=0' }, 202)
    held.letGo()
    await expect
      .poll(async () => (await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${second.id}`))['status'])
      .toBe('completed')
    expect(second.id).not.toBe(first.id)
  })

  test('are cancelled during their work, and a repeated cancel returns the cancelled run', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const run = await send({ content: 'go' }, { prefer: 'wait=0' }, 202)
    await expect.poll(() => harness.requests.length).toBe(1)
    await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${run.id}/cancel`)
    await expect
      .poll(async () => (await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${run.id}`))['status'])
      .toBe('cancelled')
    expect(await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${run.id}/cancel`)).toMatchObject({
      status: 'cancelled',
    })
  })
})

describe('continuing', () => {
  test('starts a new attempt after a failure', async () => {
    await open({
      script: [
        async function* () {
          yield* []
          throw new Error('gone')
        },
        { text: 'back' },
      ],
    })
    const failed = await send({ content: 'go' })
    expect(failed.status).toBe('failed')
    const run = (await expectJson(harness, 200, 'POST', '/v1/sessions/s/continue')) as Run
    expect(run.id).not.toBe(failed.id)
    expect(run).toMatchObject({ status: 'completed', messages: [{ role: 'assistant', parts: [{ text: 'back' }] }] })
  })

  test('is refused if there is no failed run', async () => {
    await open()
    await expectJson(harness, 409, 'POST', '/v1/sessions/s/continue')
    await send({ content: 'go' })
    await expectJson(harness, 409, 'POST', '/v1/sessions/s/continue')
    await expectJson(harness, 404, 'POST', '/v1/sessions/nothing/continue')
  })
})
