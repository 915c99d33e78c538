import { describe, expect, it } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { Model, Completion, ModelEvent } from '../../../functions/ports/model.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import type { Reply } from '../../model-server/recording-server.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import { eventFrame } from '../../model-server/bedrock-frames.ts'
import { sse } from '../../model-server/scripted-completion.ts'
import type { ScriptedCompletion } from '../../model-server/scripted-completion.ts'
import type { Provider } from './providers.ts'
import { openModel, PROVIDERS } from './providers.ts'

const REQUEST: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [{ name: 'shell', description: 'Runs a command', parameters: { type: 'object', properties: {} } }],
  toolChoice: 'auto',
  options: {},
}
const RAW = '{"cmd": "git status 😀", "n":12345678901234567890, "f":4.0}'
const COMPLETION: ScriptedCompletion = {
  parts: [
    { type: 'reasoning', text: 'I should look 思考', signature: 'c2lnbmVk' },
    { type: 'text', text: 'Let me look at that: 😀' },
    { type: 'tool_call', id: 'call_1', name: 'shell', arguments: RAW },
    { type: 'tool_call', id: 'call_2', name: 'shell', arguments: '{"cmd":"ls' },
  ],
}

/** Opens a model whose server sends this reply, and passes the model to `use`. */
async function withReply<Result>(
  provider: Provider,
  reply: Reply,
  use: (model: Model) => Promise<Result>,
): Promise<Result> {
  const headers = { 'content-type': reply.status === undefined ? provider.contentType : 'application/json' }
  const server = await startRecordingServer(() => ({ ...reply, headers: { ...headers, ...reply.headers } }))
  try {
    return await use(await openModel(provider, server))
  } finally {
    await server.close()
  }
}

async function collect(model: Model, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(REQUEST, signal)) events.push(event)
  return events
}

async function failure(provider: Provider, reply: Reply): Promise<ModelError> {
  const error = await withReply(provider, reply, (model) =>
    collect(model).then(
      () => undefined,
      (reason: unknown) => reason,
    ),
  )
  if (!(error instanceof ModelError)) throw new Error('no ModelError', { cause: error })
  return error
}

function completionOf(events: readonly ModelEvent[]): Completion {
  const last = events.at(-1)
  if (last?.type !== 'completion') throw new Error('the last event is no completion')
  return last.completion
}

describe.each(PROVIDERS)('a stream of $name', (provider) => {
  const frames = provider.frames(COMPLETION)

  it('is converted into ordered parts with raw arguments and the metadata for later requests', async () => {
    const completion = completionOf(await withReply(provider, { frames }, collect))
    expect(completion.parts.map((part) => part.type)).toEqual(['reasoning', 'text', 'tool_call', 'tool_call'])
    expect(completion.parts).toMatchObject([
      { text: 'I should look 思考' },
      { text: 'Let me look at that: 😀' },
      { id: 'call_1' },
      { id: 'call_2' },
    ])
    expect(completion.toolCalls.map((call) => call.arguments)).toEqual([RAW, '{"cmd":"ls'])
    expect(completion.finishReason).toBe('tool-calls')
    const kept = JSON.stringify(completion.parts[0])
    if (provider.name !== 'openai-compatible') expect(kept).toContain('c2lnbmVk')
  })

  it('keeps the order of texts and calls (promises L5)', async () => {
    const mixed: ScriptedCompletion = {
      parts: [
        { type: 'text', text: 'first' },
        { type: 'tool_call', id: 'a', name: 'shell', arguments: '{}' },
        { type: 'text', text: 'second' },
        { type: 'tool_call', id: 'b', name: 'shell', arguments: '{"x":1}' },
      ],
    }
    const { parts } = completionOf(await withReply(provider, { frames: provider.frames(mixed) }, collect))
    expect(parts).toMatchObject([
      { type: 'text', text: 'first' },
      { type: 'tool_call', id: 'a' },
      { type: 'text', text: 'second' },
      { type: 'tool_call', id: 'b' },
    ])
  })

  it('that contains only a call without arguments yields that call', async () => {
    const bare: ScriptedCompletion = { parts: [{ type: 'tool_call', id: 'a', name: 'shell', arguments: '' }] }
    const { toolCalls } = completionOf(await withReply(provider, { frames: provider.frames(bare) }, collect))
    expect(toolCalls).toHaveLength(1)
    expect(['', '{}']).toContain(toolCalls[0]?.arguments)
  })

  it('emits deltas that add up to the completion', async () => {
    const events = await withReply(provider, { frames }, collect)
    const completion = completionOf(events)
    const text = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join('')
    expect(text).toBe('Let me look at that: 😀')
    const pieces = events.flatMap((event) =>
      event.type === 'tool_call.delta' && event.sequence === 1 ? [event.arguments] : [],
    )
    expect(pieces.join('')).toBe(completion.toolCalls[1]?.arguments)
  })

  it('reports usage in our fields and retains the provider’s own fields', async () => {
    const { usage } = completionOf(await withReply(provider, { frames }, collect))
    expect(usage).toMatchObject({ inputTokens: 120, cachedInputTokens: 100, outputTokens: 45, totalTokens: 165 })
    expect(usage.provider).toBeDefined()
  })

  it('retains reasoning that consists of a signature only', async () => {
    if (provider.name === 'openai-compatible') return
    const silent: ScriptedCompletion = {
      parts: [
        { type: 'reasoning', text: '', signature: 'b25seQ==' },
        { type: 'text', text: 'done' },
      ],
    }
    const { parts } = completionOf(await withReply(provider, { frames: provider.frames(silent) }, collect))
    expect(parts.map((part) => part.type)).toEqual(['reasoning', 'text'])
    expect(JSON.stringify(parts[0])).toContain('b25seQ==')
  })

  it.each(['close', 'break'] as const)(
    'that is interrupted (%s) after any frame causes a retryable error or yields the whole completion',
    async (end) => {
      const whole = completionOf(await withReply(provider, { frames }, collect))
      for (let count = 0; count < frames.length; count++) {
        const reply: Reply = { frames: frames.slice(0, count), end }
        const outcome = await withReply(provider, reply, (model) => collect(model).catch((error: unknown) => error))
        if (outcome instanceof Error) {
          expect(outcome).toBeInstanceOf(ModelError)
          expect(outcome).toMatchObject({ code: 'network', retryable: true })
          // If the connection closes after the last frame of the completion, nothing is lost.
          if (end === 'close') expect(count).toBeLessThan(frames.length - provider.tail)
        } else {
          const { parts, toolCalls } = completionOf(outcome as ModelEvent[])
          expect({ count, parts, toolCalls }).toEqual({ count, parts: whole.parts, toolCalls: whole.toolCalls })
        }
      }
    },
  )

  it('fails with code "refused" if the provider filtered the completion', async () => {
    const filtered: ScriptedCompletion = { parts: [{ type: 'text', text: 'I ca' }], finish: 'filtered' }
    expect(await failure(provider, { frames: provider.frames(filtered) })).toMatchObject({
      code: 'refused',
      retryable: false,
    })
  })

  it('yields a completion with finish reason "length" if it ran out of tokens', async () => {
    const short: ScriptedCompletion = { parts: [{ type: 'text', text: 'and th' }], finish: 'length' }
    expect(completionOf(await withReply(provider, { frames: provider.frames(short) }, collect)).finishReason).toBe(
      'length',
    )
  })

  it('rejects with the reason of an abort, before and during the completion', async () => {
    const reason = new Error('enough')
    await withReply(provider, { frames: frames.slice(0, 5), end: 'hang' }, async (model) => {
      await expect(collect(model, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      setTimeout(() => abort.abort(reason), 50)
      await expect(collect(model, abort.signal)).rejects.toBe(reason)
    })
  })
})

describe.each(PROVIDERS)('an error response of $name', (provider) => {
  const reported = (message: string, type = 'error'): string[] => [
    JSON.stringify({ type: 'error', message, error: { type, message } }),
  ]

  it.each([
    [429, 'slow down', 'rate_limited', true],
    [401, 'no such key', 'authentication', false],
    [403, 'not yours', 'authentication', false],
    [400, 'tools.0 is wrong', 'invalid_request', false],
    [404, 'no such model', 'invalid_request', false],
    [400, 'prompt is too long: 250000 tokens > 200000 maximum', 'context_length', false],
    [400, 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000', 'context_length', false],
    [400, "This model's maximum context length is 128000 tokens", 'context_length', false],
    [413, 'too large', 'context_length', false],
    [500, 'oops', 'provider_error', true],
    [503, 'overloaded', 'provider_error', true],
    [529, 'overloaded', 'provider_error', true],
  ] as const)('with status %i and "%s" has the code %s', async (status, message, code, retryable) => {
    const error = await failure(provider, { status, frames: reported(message) })
    expect(error).toMatchObject({ code, retryable })
    expect(error.message).toContain(message)
  })

  it('states the delay before a retry', async () => {
    const reply = { status: 429, headers: { 'retry-after': '7' }, frames: reported('slow down') }
    expect((await failure(provider, reply)).retryAfterMs).toBe(7_000)
  })

  it('has the code "network" if the server is not running', async () => {
    const server = await startRecordingServer(() => ({ frames: [] }))
    const model = await openModel(provider, server)
    await server.close()
    await expect(collect(model)).rejects.toMatchObject({ code: 'network', retryable: true })
  })
})

it('missing AWS credentials are an authentication error and are not retried', async () => {
  const credentials = async () => {
    throw new Error('Could not load credentials from any providers')
  }
  const model = await createModels({ settings: { bedrock: { region: 'eu-west-1', credentials } } }).open('bedrock/x')
  await expect(collect(model)).rejects.toMatchObject({
    code: 'authentication',
    retryable: false,
    message: expect.stringContaining('Could not load credentials'),
  })
})

/** Errors that each provider may send within a started stream: the provider is overloaded, or the input is too long. */
const REPORTS: {
  readonly [provider: string]: { readonly busy: string | Uint8Array; readonly long: string | Uint8Array }
} = {
  'openai-compatible': {
    busy: sse({ error: { message: 'overloaded', type: 'server_error', code: 503 } }),
    long: sse({
      error: { message: 'maximum context length', type: 'invalid_request_error', code: 'context_length_exceeded' },
    }),
  },
  openai: {
    busy: sse({
      type: 'error',
      sequence_number: 9,
      error: { type: 'server_error', code: 'server_error', message: 'overloaded' },
    }),
    long: sse({
      type: 'response.failed',
      sequence_number: 9,
      response: { error: { code: 'context_length_exceeded', message: 'exceeds the context window' } },
    }),
  },
  anthropic: {
    busy: sse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'error'),
    long: sse({ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }, 'error'),
  },
  bedrock: {
    busy: eventFrame('throttlingException', { message: 'Too many requests' }, 'exception'),
    long: eventFrame('validationException', { message: 'Input is too long for requested model.' }, 'exception'),
  },
}

describe.each(PROVIDERS)('an error within a stream of $name', (provider) => {
  const begun = provider.frames(COMPLETION)

  it.each([2, 12])('is retryable (after %i frames)', async (count) => {
    const report = REPORTS[provider.name]?.busy ?? ''
    const error = await failure(provider, { frames: [...begun.slice(0, count), report] })
    expect(error.retryable).toBe(true)
    expect(error.code).toBe(provider.name === 'bedrock' ? 'rate_limited' : 'provider_error')
  })

  it('reports that the context is too long', async () => {
    const report = REPORTS[provider.name]?.long ?? ''
    const error = await failure(provider, { frames: [...begun.slice(0, 2), report] })
    expect(error).toMatchObject({ code: 'context_length', retryable: false })
  })
})
