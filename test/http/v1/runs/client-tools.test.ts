/* Evidence, limits: No person is asked about a call whose arguments do not fit the schema. Checking arguments takes bounded
 * time. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { builtInTools } from '../../../../functions/runtime/built-in-tools.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterEach(() => harness.close())

/** A schema in which each definition refers to the next definition twice. */
const doubling = (count: number): object => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: count + 1 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` }
      return [`d${at}`, at < count ? { allOf: [next, next] } : { type: 'object' }]
    }),
  ),
})

test('tool parameters whose references expand to 2^30 checks are rejected at once, with the path in the schema', async () => {
  const body = { content: 'x', tools: [{ name: 'a', description: '', parameters: doubling(30) }] }
  const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)
  expect(problem['errors']).toMatchObject([{ path: 'body.tools[0].parameters.$defs.d23' }])
  expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages')).toMatchObject({ data: [] })
})

test.each([...builtInTools().keys()])(
  'a client tool with the name of the built-in tool %s is rejected',
  async (name) => {
    const tools = [
      { name: 'mine', description: '', parameters: {} },
      { name, description: '', parameters: {} },
    ]
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
    expect(problem['errors']).toMatchObject([{ path: 'body.tools[1].name' }])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs')).toMatchObject({ data: [] })
  },
)

describe('a strict client tool', () => {
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string', pattern: '^(a+)+$' } },
    required: ['city'],
    additionalProperties: false,
  }
  const tool = { name: 'weather', description: '', parameters, strict: true }
  const call = (id: string, text: string) => ({ id, name: 'weather', arguments: text })
  const rows = async (): Promise<unknown> =>
    (await expectJson(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool&order=asc'))['data']

  type Call = ReturnType<typeof call>
  const finished = (...calls: Call[]): Promise<object> => finishedWith(tool, ...calls)

  async function finishedWith(asked: object, ...calls: Call[]): Promise<object> {
    await harness.close()
    harness = await openHttpHarness({ script: [{ calls }, { text: 'done' }] })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    return expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'x', tools: [asked] })
  }

  test('is called only with valid arguments; invalid ones get an error with the reason', async () => {
    const run = await finished(call('a', '{"city": "aa"}'), call('b', '{"city": 1}'), call('c', '{"city'))
    expect(run).toMatchObject({ status: 'paused', waiting: [{ tool_call_id: 'a' }] })
    expect(await rows()).toMatchObject([
      { status: 'waiting' },
      { status: 'error', parts: [{ text: expect.stringMatching(/^error: .*fit the schema of weather:[^]*#\/city/) }] },
      { status: 'error', parts: [{ text: 'error: the arguments are not valid JSON: {"city' }] },
    ])
  })

  test.each<[string, object]>([
    ['a keyword of another form', { enum: 5 }],
    ['a reference to another server', { $ref: 'https://example.com/city.json' }],
    ['a pattern of another dialect', { pattern: '(?i)^a+$' }],
    ['a type of another language', { type: 'str' }],
  ])(
    'field/22/strict-tool: is called with unchecked arguments and a warning if its schema has %s',
    async (_name, city) => {
      const broken = { ...tool, parameters: { type: 'object', properties: { city } } }
      const run = await finishedWith(broken, call('a', '{"city": "aa"}'))
      expect(run).toMatchObject({ status: 'paused', waiting: [{ tool_call_id: 'a' }] })
      const { id } = run as { readonly id: string }
      const notices = (await harness.ports.reader.run({ tenant: 'default', session: 's' }, id))?.notices
      expect(notices?.filter(({ type }) => type === 'warning')).toMatchObject([
        { code: 'arguments_unchecked', detail: expect.stringContaining('because of the schema of weather') },
      ])
    },
  )

  test('is checked in a bounded time for any schema and arguments; unchecked calls still reach the client', async () => {
    const hostile = JSON.stringify({ city: `${'a'.repeat(60)}!` })
    const begun = performance.now()
    const run = await finished(...Array.from({ length: 64 }, (_, at) => call(`c${at}`, hostile)))
    expect(run).toMatchObject({ status: 'paused' })
    expect(performance.now() - begun).toBeLessThan(30_000)
    const all = (await rows()) as object[]
    for (const row of all) expect(row).toMatchObject({ status: 'waiting' })
    expect(all).toHaveLength(64)
    const { id } = run as { readonly id: string }
    const key = { tenant: 'default', session: 's' }
    const notices = (await harness.ports.reader.run(key, id))?.notices?.filter(({ type }) => type === 'warning')
    expect(notices).toMatchObject([{ code: 'arguments_unchecked', detail: expect.stringMatching(/ of weather$/) }])
  })
})
