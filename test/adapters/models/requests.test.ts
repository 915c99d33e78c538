/* Evidence, replay: Each provider is sent the messages that the replay rules define. */
import { describe, expect, it } from 'vitest'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { toOpenAiMessages } from '../../../functions/log/formats/openai-format.ts'
import type { RecordedRequest } from '../../model-server/recording-server.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import { awkwardLog, BIG, MALFORMED, NOTE, requestFor } from './awkward-log.ts'
import type { Provider } from './providers.ts'
import { openModel, PROVIDERS } from './providers.ts'

const LOG = awkwardLog()
const DONE = { parts: [{ type: 'text', text: 'done' }] } as const

/** Sends requests through the provider's real package. Returns the recorded HTTP requests. */
async function sent(provider: Provider, requests: readonly ModelRequest[]): Promise<readonly RecordedRequest[]> {
  const headers = { 'content-type': provider.contentType }
  const server = await startRecordingServer(() => ({ headers, frames: provider.frames(DONE) }))
  try {
    const model = await openModel(provider, server)
    for (const request of requests) {
      for await (const event of model.stream(request, new AbortController().signal)) void event
    }
    return server.requests
  } finally {
    await server.close()
  }
}

type Body = { readonly [key: string]: unknown }

async function bodyFor(provider: Provider, request: ModelRequest): Promise<{ text: string; body: Body }> {
  const [recorded] = await sent(provider, [request])
  const text = recorded?.body ?? ''
  return { text, body: JSON.parse(text) as Body }
}

/** Reads the messages of a provider's body. */
const messagesOf = (body: Body): unknown[] => (body['messages'] ?? body['input']) as unknown[]

const toolChoiceOf = (body: Body): unknown => body['tool_choice'] ?? (body['toolConfig'] as Body)['toolChoice']

/** Returns the provider's model that accepts a temperature. For the newest models, the packages omit the temperature. */
function plainModel({ name, model }: Provider): string {
  const plain: { readonly [provider: string]: string } = {
    openai: 'openai/gpt-4.1',
    anthropic: 'anthropic/claude-sonnet-4-5',
    bedrock: 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
  }
  return plain[name] ?? model
}

const named = (name: string): Provider => {
  const provider = PROVIDERS.find((candidate) => candidate.name === name)
  if (provider === undefined) throw new RangeError(name)
  return provider
}

/** Returns the prefixes of the log after which the loop sends a request. */
const points = (log: readonly Message[]): Message[][] =>
  log.flatMap((message, index) => {
    const settled = message.role === 'user' || (message.role === 'tool' && log[index + 1]?.role !== 'tool')
    return settled ? [log.slice(0, index + 1)] : []
  })

describe.each(PROVIDERS)('a request to $name', (provider) => {
  it("contains the current run's images, or the notes that replace them, but no errors and no earlier images", async () => {
    const { text } = await bodyFor(provider, requestFor(LOG))
    expect(text).not.toContain('NEVER-SENT')
    expect(text.split(NOTE)).toHaveLength(2)
    expect(text.split('iVBORw0KGgo')).toHaveLength(provider.name === 'openai-compatible' ? 2 : 3)
  })

  it('has the same bytes every time', async () => {
    const [first, second] = await sent(provider, [requestFor(LOG), requestFor(structuredClone(LOG))])
    expect(second?.body).toBe(first?.body)
  })

  it('begins with the message bytes of the previous request of its run', async () => {
    const inRun = points(LOG).filter((log) => log.at(-1)?.runId === 'run-2')
    const requests = await sent(
      provider,
      inRun.map((log) => requestFor(log)),
    )
    const messages = requests.map((request) =>
      messagesOf(JSON.parse(request.body) as Body).map((one) => JSON.stringify(one)),
    )
    expect(requests.length).toBe(3)
    for (const [index, earlier] of messages.entries()) {
      const later = messages[index + 1]
      if (later !== undefined) expect(later.slice(0, earlier.length)).toEqual(earlier)
    }
  })

  it('includes the agent’s temperature, output limit and provider options', async () => {
    const own = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } }, openai: { user: 'u-1' } }
    const options = { temperature: 0.25, maxOutputTokens: 777, provider: { ...own, openaiCompatible: { user: 'u-1' } } }
    const { text } = await bodyFor({ ...provider, model: plainModel(provider) }, { ...requestFor(LOG), options })
    expect(text).toMatch(/"temperature":0\.25/)
    expect(text).toMatch(/"(?:max_tokens|max_output_tokens|maxTokens)":777/)
    if (provider.name === 'anthropic') expect(text).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
    if (provider.name.startsWith('openai')) expect(text).toContain('"user":"u-1"')
  })

  it('can force a call of any tool or of one tool', async () => {
    const forced = async (choice: ModelRequest['toolChoice']): Promise<string> =>
      JSON.stringify(toolChoiceOf((await bodyFor(provider, requestFor(LOG, choice))).body))
    expect(await forced('required')).toMatch(/required|any/)
    expect(await forced({ name: 'screenshot' })).toContain('screenshot')
  })

  it('declares its tools even if no call is allowed', async () => {
    const open = (await bodyFor(provider, requestFor(LOG))).body
    const last = (await bodyFor(provider, requestFor(LOG, 'none'))).body
    const tools = (body: Body): unknown => body['tools'] ?? (body['toolConfig'] as Body)['tools']
    expect(tools(last)).toEqual(tools(open))
    expect(messagesOf(last).slice(0, -1)).toEqual(messagesOf(open).slice(0, -1))
  })
})

describe('raw arguments', () => {
  it('are sent to an OpenAI-compatible server exactly as stored', async () => {
    const { body } = await bodyFor(named('openai-compatible'), requestFor(LOG))
    const messages = messagesOf(body) as { tool_calls?: { function: { arguments: string } }[] }[]
    const raw = messages.flatMap((message) => message.tool_calls?.map((call) => call.function.arguments) ?? [])
    expect(raw).toEqual([BIG, MALFORMED, '', '{}', '{"cmd":"true"}'])
  })

  it('are sent to the OpenAI Responses API exactly as stored', async () => {
    const { body } = await bodyFor(named('openai'), requestFor(LOG))
    const items = messagesOf(body) as { type?: string; arguments?: string }[]
    const raw = items.flatMap((item) => (item.type === 'function_call' ? [item.arguments] : []))
    expect(raw).toEqual([BIG, MALFORMED, '', '{}', '{"cmd":"true"}'])
  })

  it.each(['anthropic', 'bedrock'])('are sent to %s as equal JSON with unchanged number formats', async (name) => {
    const { text } = await bodyFor(named(name), requestFor(LOG))
    expect(text).toContain('"input":{"n":12345678901234567890,"f":4.0,"e":1E400,"z":-0,"text":"é😀"}')
  })

  it.each(['anthropic', 'bedrock'])(
    'are replaced by {} for %s if malformed, with an error that quotes them',
    async (name) => {
      const { text, body } = await bodyFor(named(name), requestFor(LOG))
      expect(text).not.toContain('rawInvalidInput')
      const results = JSON.stringify(messagesOf(body)[2])
      expect(results).toContain(JSON.stringify(MALFORMED).slice(1, -1))
      expect(results).toContain('error: cannot parse')
    },
  )
})

describe('a Chat Completions request', () => {
  it('equals the output of format=openai (promises R6)', async () => {
    for (const log of points(LOG)) {
      const request = requestFor(log)
      const { body } = await bodyFor(named('openai-compatible'), request)
      expect(JSON.stringify(body['messages'])).toBe(
        JSON.stringify(toOpenAiMessages(request.messages, request.instructions)),
      )
    }
  })

  it('asks for usage and a sufficient output limit, and can forbid calls', async () => {
    const { body } = await bodyFor(named('openai-compatible'), requestFor(LOG, 'none'))
    expect(body).toMatchObject({ stream_options: { include_usage: true }, max_tokens: 8_192, tool_choice: 'none' })
  })
})

describe('a request to the Anthropic Messages API', () => {
  const provider = named('anthropic')

  it('has alternating roles, and each batch of calls is followed by all its results', async () => {
    const { body } = await bodyFor(provider, requestFor(LOG))
    const messages = messagesOf(body) as {
      role: string
      content: { type: string; id?: string; tool_use_id?: string }[]
    }[]
    expect(messages.map((message) => message.role)).toEqual(
      messages.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
    )
    const ids: string[] = []
    for (const [index, message] of messages.entries()) {
      const calls = message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id ?? ''] : []))
      const next = messages[index + 1]?.content ?? []
      const results = next.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))
      if (message.role === 'assistant') expect(results).toEqual(calls)
      ids.push(...calls)
    }
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
  })

  it('contains earlier reasoning with its signature, even if the reasoning consists of a signature only', async () => {
    const { body } = await bodyFor(provider, requestFor(LOG))
    expect(JSON.stringify(body)).toContain('{"type":"thinking","thinking":"let me think","signature":"c2lnMQ=="}')
    expect(JSON.stringify(body)).toContain('{"type":"thinking","thinking":"","signature":"c2lnMg=="}')
  })

  it('marks errors and interrupted calls, and contains images of results as images', async () => {
    const { text } = await bodyFor(provider, requestFor(LOG))
    expect(text).toContain('"is_error":true')
    expect(text).toContain('"content":"interrupted: this call may or may not have run","is_error":true')
    expect(text).toMatch(/"tool_result"[^}]*"content":\[\{"type":"text","text":"here"\},\{"type":"image"/)
  })

  it('sets cache marks without changing any message', async () => {
    const { body } = await bodyFor(provider, requestFor(LOG))
    expect(body['cache_control']).toEqual({ type: 'ephemeral' })
    expect(JSON.stringify(body['messages'])).not.toContain('cache_control')
  })

  it('declares its tools with tool_choice none', async () => {
    expect((await bodyFor(provider, requestFor(LOG, 'none'))).body).toMatchObject({ tool_choice: { type: 'none' } })
  })
})

describe('a Bedrock request', () => {
  const provider = named('bedrock')

  it('retains the call history in the last round, with tool choice auto and a final instruction', async () => {
    const { body } = await bodyFor(provider, requestFor(LOG, 'none'))
    expect(body['toolConfig']).toMatchObject({ toolChoice: { auto: {} } })
    expect(JSON.stringify(messagesOf(body))).toContain('"toolUse"')
    const last = messagesOf(body).at(-1) as { content: unknown[] }
    expect(last.content.at(-1)).toEqual({ text: 'Answer now. Do not call any tool.' })
  })

  it('contains earlier reasoning with its signature, and no blank text', async () => {
    const { text } = await bodyFor(provider, requestFor(LOG))
    expect(text).toContain('{"reasoningText":{"text":"let me think","signature":"c2lnMQ=="}}')
    expect(text).toContain('{"reasoningText":{"text":"","signature":"c2lnMg=="}}')
    expect(text.replaceAll('{"reasoningText":{"text":""', '')).not.toMatch(/"text":"\s*"/)
  })

  it('has a signature of version 4 for the region and Bedrock', async () => {
    const [recorded] = await sent(provider, [requestFor(LOG)])
    expect(recorded?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\//,
    )
  })
})

describe('a request to the OpenAI Responses API', () => {
  const provider = named('openai')

  it('disables storage at the provider, and contains earlier reasoning in encrypted form', async () => {
    const { body, text } = await bodyFor(provider, requestFor(LOG))
    expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
    expect(text).not.toContain('item_reference')
    expect(messagesOf(body)).toContainEqual({
      type: 'reasoning',
      id: 'rs_c2lnMQ==',
      encrypted_content: 'c2lnMQ==',
      summary: [{ type: 'summary_text', text: 'let me think' }],
    })
  })

  it('has one output for each call, in order', async () => {
    const { body } = await bodyFor(provider, requestFor(LOG))
    const items = messagesOf(body) as { type?: string; call_id?: string }[]
    const ids = (type: string) => items.flatMap((item) => (item.type === type ? [item.call_id] : []))
    expect(ids('function_call_output')).toEqual(ids('function_call'))
  })
})
