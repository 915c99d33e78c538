/* Evidence, api: Each provider gets the format and the options in the provider's own form. */
import { describe, expect, it, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { JsonFormat } from '../../../functions/domain/runs/request-settings.ts'
import { isClosedSchema } from '../../../functions/log/json/closed-schema.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import { openModel, PROVIDERS } from './providers.ts'
import type { Provider } from './providers.ts'

type Body = { readonly [key: string]: unknown }

const place = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const typed: JsonFormat = { type: 'json_schema', name: 'place', schema: place, strict: true }
const anyObject: JsonFormat = { type: 'json_object' }
const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const asked: ModelRequest = {
  instructions: 'Be brief.',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Where?' }] }],
  tools: [],
  toolChoice: 'none',
  options: {},
}

/** Sends a request and returns its body as the provider gets it. */
async function bodyFor(provider: Provider, change: Partial<ModelRequest>): Promise<Body> {
  const headers = { 'content-type': provider.contentType }
  const frames = provider.frames({ parts: [{ type: 'text', text: '{"city": "Oslo"}' }] })
  const server = await startRecordingServer(() => ({ headers, frames }))
  try {
    const model = await openModel(provider, server)
    for await (const event of model.stream({ ...asked, ...change }, new AbortController().signal)) void event
    return JSON.parse(server.requests[0]?.body ?? '') as Body
  } finally {
    await server.close()
  }
}

function named(name: string, model?: string): Provider {
  const provider = PROVIDERS.find((one) => one.name === name)
  if (provider === undefined) throw new RangeError(name)
  return model === undefined ? provider : { ...provider, model }
}

/** Returns the field with the format. Each provider has its own name for this field. */
const fieldOf = (body: Body): unknown =>
  body['response_format'] ??
  (body['text'] as Body | undefined)?.['format'] ??
  (body['output_config'] as Body | undefined)?.['format'] ??
  (body['additionalModelRequestFields'] as Body | undefined)?.['output_config']

/** Whether the instructions describe the format. */
const isDescribed = (body: Body): boolean =>
  JSON.stringify([body['messages'], body['input'], body['system']]).includes('must be JSON and nothing else')

describe('a format with a schema', () => {
  it('is a field of a request to OpenAI', async () => {
    const body = await bodyFor(named('openai'), { responseFormat: typed })
    expect(fieldOf(body)).toMatchObject({ type: 'json_schema', name: 'place', strict: true, schema: place })
    expect(isDescribed(body)).toBe(false)
    const { strict: _, ...loose } = typed
    expect(fieldOf(await bodyFor(named('openai'), { responseFormat: loose }))).toMatchObject({ strict: false })
  })

  it('is a field of a request to a Claude model that supports formats, and forces no call', async () => {
    const request = { responseFormat: typed, tools: [tool], toolChoice: 'auto' } as const
    const body = await bodyFor(named('anthropic', 'anthropic/claude-sonnet-4-5'), request)
    expect(fieldOf(body)).toMatchObject({ type: 'json_schema', schema: { properties: { city: { type: 'string' } } } })
    expect([isDescribed(body), body['tool_choice'], (body['tools'] as unknown[]).length]).toEqual([
      false,
      { type: 'auto' },
      1,
    ])
  })

  it.each([
    ['anthropic', 'anthropic/claude-3-7-sonnet-latest', typed],
    ['anthropic', 'anthropic/claude-opus-4-20250514', typed],
    ['anthropic', 'anthropic/claude-sonnet-4-5', { ...typed, schema: { type: 'object' } }],
    ['bedrock', 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0', typed],
    ['bedrock', 'bedrock/amazon.nova-pro-v1:0', typed],
  ] as const)('is described by the instructions for %s %s', async (name, model, format) => {
    const body = await bodyFor(named(name, model), { responseFormat: format, tools: [tool], toolChoice: 'auto' })
    expect([fieldOf(body), isDescribed(body)]).toEqual([undefined, true])
    expect(JSON.stringify(body)).not.toContain('"name":"json"')
  })

  it('is a field and an instruction for an OpenAI-compatible server, but only an instruction beside tools', async () => {
    const provider = named('openai-compatible')
    const both = await bodyFor(provider, { responseFormat: typed })
    expect(fieldOf(both)).toMatchObject({ type: 'json_schema', json_schema: { name: 'place', strict: true } })
    expect(isDescribed(both)).toBe(true)
    const open = await bodyFor(provider, { responseFormat: typed, tools: [tool], toolChoice: 'auto' })
    expect([fieldOf(open), isDescribed(open)]).toEqual([undefined, true])
  })
})

test('a format that the provider has rejected is described by the instructions', async () => {
  for (const provider of PROVIDERS) {
    const body = await bodyFor(provider, { responseFormat: typed, describesFormat: true })
    expect([provider.name, fieldOf(body), isDescribed(body)]).toEqual([provider.name, undefined, true])
  }
})

test('the format json_object is described for each provider, and is a field if the provider has one', async () => {
  for (const provider of PROVIDERS) {
    const body = await bodyFor(provider, { responseFormat: anyObject })
    const field = provider.name.startsWith('openai') ? { type: 'json_object' } : undefined
    expect([provider.name, fieldOf(body), isDescribed(body)]).toEqual([provider.name, field, true])
  }
})

describe.each([
  ['openai-compatible', 'openai-compatible/scripted', /"top_p":0.5.*"stop":\["END","\\n"\],"seed":7/],
  ['openai', 'openai/gpt-4.1', /"top_p":0.5/],
  ['anthropic', 'anthropic/claude-sonnet-4-5', /"stop_sequences":\["END"\]/],
  ['bedrock', 'bedrock/amazon.nova-pro-v1:0', /"stopSequences":\["END"\]/],
])('%s', (name, model, expected) => {
  it('gets those options of the request that the provider supports', async () => {
    const options = { topP: 0.5, seed: 7, stop: ['END', '\n'] }
    expect(JSON.stringify(await bodyFor(named(name, model), { options }))).toMatch(expected)
  })

  it('gets the reasoning effort', async () => {
    const thinking: { readonly [provider: string]: string } = {
      openai: 'openai/gpt-5',
      anthropic: 'anthropic/claude-opus-4-6',
      bedrock: 'bedrock/anthropic.claude-opus-4-6-v1',
    }
    const body = await bodyFor(named(name, thinking[name]), { options: { reasoningEffort: 'low' } })
    expect(JSON.stringify(body)).toMatch(/"(?:reasoning_effort|effort|maxReasoningEffort)":"low"/)
  })
})

test('a schema is closed if each of its objects allows only named properties', () => {
  expect(isClosedSchema(place)).toBe(true)
  expect(isClosedSchema({ type: 'object', additionalProperties: false })).toBe(true)
  for (const open of [
    { type: 'object' },
    { ...place, additionalProperties: true },
    { type: 'array', items: { type: ['object', 'null'] } },
    { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: 'string' } }] },
    { $defs: { a: { type: 'object', properties: {}, patternProperties: { '^a': {} } } } },
  ])
    expect(isClosedSchema(open)).toBe(false)
})
