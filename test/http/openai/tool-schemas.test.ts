/*
 * A client sends tools whose schemas a generator wrote for another program. The tools are not strict, so arguments are not checked
 * against the schemas. The model gets the schemas unchanged, in each inbound format and on each wire.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../functions/domain/json.ts'
import { openWire, WIRES } from '../wire-harness.ts'
import type { WireHarness } from '../wire-harness.ts'

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more })
const matching = (pattern: string): JsonObject => object({ url: { type: 'string', pattern } })
function nested(levels: number): JsonObject {
  return levels === 0 ? { type: 'string' } : object({ a: nested(levels - 1) })
}

const SCHEMAS: readonly (readonly [variant: string, parameters: JsonObject, description?: string])[] = [
  ['plain', matching('^a+$')],
  ['escaped-colon', matching('^https\\:\\/\\/')],
  ['escaped-hyphen', matching('^[\\w\\-\\.]+\\@x$')],
  ['case-flag-in-the-pattern', matching('(?i)^abc$')],
  ['anchors-of-python', matching('\\A(?P<year>[0-9]{4})\\Z')],
  ['long-pattern', matching(`^(${Array.from({ length: 250 }, (_, index) => `C${index}`).join('|')})$`)],
  ['example-with-a-pattern', object({ rule: { type: 'object', example: { pattern: '[' } } })],
  ['required-null', object({}, { required: null })],
  ['limits-of-draft-4', object({ n: { type: 'number', minimum: 0, exclusiveMinimum: true } })],
  ['definitions-of-draft-7', object({ n: { $ref: '#/definitions/n' } }, { definitions: { n: { type: 'number' } } })],
  ['remote-reference', object({ n: { $ref: 'https://example.com/n.json' } })],
  ['reference-to-nothing', object({ n: { $ref: '#/$defs/Missing' } })],
  ['types-in-capitals', { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } }],
  ['20-levels', nested(20)],
  ['long-description', object({}), 'd'.repeat(9_000)],
  ['very-long-description', object({}), 'd'.repeat(60_000)],
]
const TOOLS = SCHEMAS.map(([, parameters, description = ''], index) => ({ name: `t${index}`, description, parameters }))

interface SentTool {
  readonly function?: { readonly parameters?: unknown; readonly description?: string }
  readonly parameters?: unknown
  readonly input_schema?: unknown
  readonly description?: string
  readonly toolSpec?: { readonly inputSchema: { readonly json: unknown }; readonly description?: string }
}

/** The tools of a request, whatever its wire. */
function toolsIn(body: string | undefined): { readonly parameters: unknown; readonly description: string }[] {
  const request = JSON.parse(body ?? '{}') as {
    tools?: readonly SentTool[]
    toolConfig?: { tools: readonly SentTool[] }
  }
  return (request.tools ?? request.toolConfig?.tools ?? []).map((tool) => {
    const { parameters, description } = tool.function ?? tool
    return {
      parameters: parameters ?? tool.input_schema ?? tool.toolSpec?.inputSchema.json,
      description: description ?? tool.toolSpec?.description ?? '',
    }
  })
}

describe.each(WIRES)('$wire', ({ provider }) => {
  let opened: WireHarness
  let sent: ReturnType<typeof toolsIn>
  beforeAll(async () => {
    opened = await openWire(provider)
    const tools = TOOLS.map((tool) => ({ type: 'function', function: tool }))
    const request = { model: 'default', messages: [{ role: 'user', content: 'go' }], tools }
    const response = await opened.harness.send('POST', '/openai/v1/chat/completions', request)
    expect(response.status, await response.text()).toBe(200)
    sent = toolsIn(opened.sent()[0])
  })
  afterAll(() => opened.close())

  test.each(SCHEMAS.map(([variant], index) => ({ variant, index })))(
    'field/22/$variant: the schema and the description reach the model unchanged',
    ({ index }) => {
      expect(sent[index]?.parameters).toEqual(TOOLS[index]?.parameters)
      expect(sent[index]?.description).toEqual(TOOLS[index]?.description)
    },
  )
})

const UNPARSABLE: readonly JsonObject[] = [
  { type: 'object', properties: { a: null, b: { type: 'string' } } },
  { type: 'object', properties: { a: { allOf: 'x', anyOf: [null], items: 7, pattern: 5 } } },
  { type: 'object', propertyNames: true, patternProperties: null },
]

test.each(WIRES)(
  'field/22/unparsable · $wire: a schema that no package parses does not fail the run',
  async ({ provider }) => {
    const opened = await openWire(provider)
    try {
      const tools = UNPARSABLE.map((parameters, index) => ({
        type: 'function',
        function: { name: `t${index}`, description: '', parameters },
      }))
      const request = { model: 'default', messages: [{ role: 'user', content: 'go' }], tools }
      const response = await opened.harness.send('POST', '/openai/v1/chat/completions', request)
      expect(response.status, await response.text()).toBe(200)
      expect(toolsIn(opened.sent()[0])).toHaveLength(UNPARSABLE.length)
    } finally {
      await opened.close()
    }
  },
)

describe('in each inbound format', () => {
  let opened: WireHarness
  beforeAll(async () => {
    const [chat] = WIRES
    if (chat === undefined) throw new Error('there is no wire')
    opened = await openWire(chat.provider)
    await opened.harness.send('POST', '/v1/sessions', { id: 's' })
  })
  afterAll(() => opened.close())

  test.each<[string, string, object]>([
    [
      'responses',
      '/openai/v1/responses',
      { model: 'default', input: 'go', tools: TOOLS.map((tool) => ({ type: 'function', ...tool })) },
    ],
    ['native', '/v1/sessions/s/messages', { content: 'go', tools: TOOLS }],
    [
      'ai-sdk',
      '/v1/chat',
      { id: 'sdk', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }], tools: TOOLS },
    ],
    [
      'ag-ui',
      '/v1/ag-ui/default',
      {
        threadId: 'agui',
        runId: 'r',
        messages: [{ id: 'm', role: 'user', content: 'go' }],
        tools: TOOLS,
        state: {},
        context: [],
        forwardedProps: {},
      },
    ],
  ])('field/22/inbound-%s: the schemas reach the model unchanged', async (_name, path, body) => {
    opened.play()
    const response = await opened.harness.send('POST', path, body, { prefer: 'wait=60' })
    expect(response.status, await response.text()).toBe(200)
    expect(toolsIn(opened.sent()[0])).toEqual(TOOLS.map(({ parameters, description }) => ({ parameters, description })))
  })
})
