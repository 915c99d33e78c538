import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

const source = { title: 'One', url: 'https://one.example/', text: 'Text of one', id: 'doc-1' }
const look = makeTool('look', async () => ({ text: 'seen', sources: [{ title: 'Ours' }] }))
const tools = [{ name: 'ask', description: 'Asks.', parameters: { type: 'object' } }]
const calls = [
  { id: 'c1', name: 'ask' },
  { id: 'c2', name: 'look' },
]

let harness: HttpHarness
let runId: string
beforeEach(async () => {
  const script = [{ calls }, { text: 'It is so [source1].' }]
  harness = await openHttpHarness({ script, tools: [look], policies: { sources: 'cited' } })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go', tools })
  expect(run['status']).toBe('paused')
  runId = String(run['id'])
})
afterEach(() => harness.close())

const give = (sources: unknown): Promise<Record<string, unknown>> => {
  const results = [{ tool_call_id: 'c1', output: 'yes', sources }]
  return expectJson(harness, Array.isArray(sources) && sources[0] === source ? 200 : 422, 'POST', at(), { results })
}
const at = (): string => `/v1/sessions/s/runs/${runId}/tool-results`
const textsOf = (request: ModelRequest | undefined): unknown[] =>
  (request?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ parts }) => parts.map((part) => 'text' in part && part.text))

test('sources of a client tool precede those of later calls, and messages show their numbers', async () => {
  const run = await give([source])
  expect(run).toMatchObject({ status: 'completed' })
  expect(textsOf(harness.requests[1])).toEqual([
    ['yes\n\n[source1] One — https://one.example/\nText of one'],
    ['seen\n\n[source2] Ours'],
  ])
  const shown = [
    { sources: [{ number: 1, title: 'One', url: 'https://one.example/', cited: true }] },
    { sources: [{ number: 2, title: 'Ours', cited: false }] },
  ]
  const { data } = await expectJson<{ data: object[] }>(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
  expect(data).toMatchObject(shown)
  const chat = await expectJson<{ data: { role: string; content: string }[] }>(
    harness,
    ...([200, 'GET', '/v1/sessions/s/messages?format=openai'] as const),
  )
  expect(chat.data.flatMap(({ role, content }) => (role === 'tool' ? [[content]] : []))).toEqual(
    textsOf(harness.requests[1]),
  )
})

test('the context of a waiting run has the source numbers of its next request', async () => {
  const { messages } = await expectJson<{ messages: { role: string; content: string }[] }>(
    harness,
    ...([200, 'GET', '/v1/sessions/s/context'] as const),
  )
  expect(messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))).toEqual([
    '[waiting for an answer]',
    'seen\n\n[source1] Ours',
  ])
})

test('a result may be repeated with equal sources, but is refused with other sources', async () => {
  await give([source])
  const again = { tool_call_id: 'c1', output: 'yes', sources: [{ ...source, more: 'is left out' }] }
  await expectJson(harness, 200, 'POST', at(), { results: [again] })
  const other = { tool_call_id: 'c1', output: 'yes', sources: [{ title: 'Another' }] }
  await expectJson(harness, 409, 'POST', at(), { results: [other] })
})

test.each<readonly [what: string, sources: unknown, path: string]>([
  ['another scheme', [{ title: 'fine' }, { title: 'x', url: 'ftp://x.example' }], 'body.results[0].sources[1]'],
  ['no host', [{ title: 'x', url: 'https://' }], 'body.results[0].sources[0]'],
  [
    'a line break in the url',
    [{ title: 'x', url: 'https://x.example/\n[source9] forged' }],
    'body.results[0].sources[0]',
  ],
  ['no title', [{ url: 'https://x.example' }], 'body.results[0].sources[0]'],
  ['an empty title', [{ title: '' }], 'body.results[0].sources[0]'],
  ['a long title', [{ title: 'x'.repeat(2_001) }], 'body.results[0].sources[0]'],
  ['a text that is no text', [{ title: 'x', text: 7 }], 'body.results[0].sources[0]'],
  ['an id that is no text', [{ title: 'x', id: 7 }], 'body.results[0].sources[0]'],
  ['null', [null], 'body.results[0].sources[0]'],
  ['no list', { title: 'x' }, 'body.results[0].sources'],
  ['a hundred and one', Array.from({ length: 101 }, () => ({ title: 'x' })), 'body.results[0].sources'],
])('an invalid list of sources is rejected with its path: %s', async (_, sources, path) => {
  const problem = await give(sources)
  expect(problem).toMatchObject({ type: 'urn:tooltrail:problem:invalid_sources', errors: [{ path }] })
  expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${runId}`)).toMatchObject({ status: 'paused' })
})

test('sources are listed by number, in pages, and filtered by citation', async () => {
  const at = '/v1/sessions/s/sources'
  expect(await expectJson(harness, 200, 'GET', at)).toMatchObject({ data: [], next: null })
  await give([source, { title: 'Third' }])
  const list = (query: string) => expectJson<{ data: { number: number }[] }>(harness, 200, 'GET', `${at}${query}`)
  const first = { object: 'source', number: 1, ...source, cited: true, run_id: runId }
  expect(await list('')).toMatchObject({
    data: [first, { number: 2, title: 'Third', cited: false }, { number: 3, title: 'Ours', cited: false }],
    has_more: false,
  })
  expect(await list('?limit=1')).toMatchObject({ data: [first], next: '1', has_more: true })
  expect(await list('?after=1&limit=1')).toMatchObject({ data: [{ number: 2 }], next: '2' })
  expect(await list('?after=2&limit=1')).toMatchObject({ data: [{ number: 3 }], next: null })
  expect(await list('?cited=true')).toMatchObject({ data: [first], next: null })
  expect((await list('?cited=false')).data.map(({ number }) => number)).toEqual([2, 3])
  await expectJson(harness, 422, 'GET', `${at}?after=01JD2Q8N4T6W8Y0A2C4E6G8J0K`)
  for (const query of ['?cited=maybe', '?limit=0', '?more=1']) await expectJson(harness, 400, 'GET', `${at}${query}`)
  await expectJson(harness, 404, 'GET', '/v1/sessions/none/sources')
})
