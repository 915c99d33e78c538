import { describe, expect, test } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { PROVIDERS, WIRES } from './providers.ts'
import type { Provider } from './providers.ts'

const REQUEST = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [],
  toolChoice: 'auto',
  options: {},
} as const

/** Returns the error of a provider's real package for this response. Uses no network. */
async function refusal(provider: Provider, status: number, body: string): Promise<ModelError> {
  const headers = { 'content-type': 'application/json' }
  const models = createModels({
    settings: provider.settings('http://127.0.0.1:1'),
    fetch: async () => new Response(body, { status, headers }),
  })
  const model = await models.open(provider.model)
  const events = model.stream(REQUEST, AbortSignal.timeout(5_000))[Symbol.asyncIterator]()
  const failed: unknown = await events.next().catch((error: unknown) => error)
  if (!(failed instanceof ModelError)) throw new Error('no ModelError', { cause: failed })
  return failed
}

const bodyOf = (message: string, more: object = {}): string =>
  JSON.stringify({ type: 'error', message, error: { type: 'invalid_request_error', message, ...more } })

/** Public error messages of servers, and the numbers that they contain. */
const SENTENCES = [
  [
    'openai',
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    8192,
    9001,
  ],
  [
    'openai-with-output',
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (7001 in the messages, 2000 in the completion).",
    6192,
    7001,
  ],
  [
    'openai-for-the-completion',
    400,
    "This model's maximum context length is 4097 tokens, however you requested 4927 tokens (3927 in your prompt; 1000 for the completion). Please reduce your prompt.",
    3097,
    3927,
  ],
  [
    'vllm-with-output',
    400,
    "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 8192 tokens and your request has 7001 input tokens (2000 > 8192 - 7001).",
    6192,
    7001,
  ],
  [
    'anthropic-with-output',
    400,
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    178_667,
    188_240,
  ],
  ['anthropic', 400, 'prompt is too long: 250,000 tokens > 200,000 maximum', 200_000, 250_000],
  [
    'gemini',
    400,
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    1_048_576,
    1_200_000,
  ],
  [
    'llama.cpp',
    400,
    'request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it',
    8192,
    9001,
  ],
  [
    'llama.cpp-before',
    500,
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    undefined,
    undefined,
  ],
  ['llama.cpp-exceeded', 400, 'Context size has been exceeded.', undefined, undefined],
  [
    'xai',
    400,
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    131_072,
    136_973,
  ],
  ['moonshot', 400, 'Invalid request: Your request exceeded model token limit: 8192', 8192, undefined],
  [
    'moonshot-requested',
    400,
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
    262_144,
    269_030,
  ],
  ['z.ai', 400, 'Prompt exceeds max length', undefined, undefined],
  ['tgi', 422, 'Input validation error: `inputs` must have less than 4096 tokens. Given: 9001', 4096, 9001],
  [
    'tgi-with-output',
    422,
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`',
    1988,
    3474,
  ],
  ['volcano', 400, 'Input length 203743 exceeds the maximum length 202752', 202_752, 203_743],
  [
    'mistral',
    400,
    'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    undefined,
    undefined,
  ],
] as const

/** Error codes of the same servers, with messages that say nothing about the length. */
const CODES = [
  [
    'llama.cpp-code',
    400,
    bodyOf('no', { type: 'exceed_context_size_error', n_prompt_tokens: 1407, n_ctx: 256 }),
    256,
    1407,
  ],
  ['llama.cpp-code-500', 500, bodyOf('no', { code: 500, type: 'exceed_context_size_error' }), undefined, undefined],
  ['z.ai-code', 400, bodyOf('提示词太长', { code: '1261' }), undefined, undefined],
  ['openai-code', 400, bodyOf('no', { code: 'context_length_exceeded' }), undefined, undefined],
] as const

describe.each(PROVIDERS.map((provider) => [WIRES[provider.name], provider] as const))('on %s', (_wire, provider) => {
  test.each(SENTENCES)(
    'field/too-long/%s: the refusal becomes a length error with the sizes that its message states',
    async (_server, status, message, maxTokens, tokens) => {
      const error = await refusal(provider, status, bodyOf(message))
      expect(error).toMatchObject({ code: 'context_length', retryable: false, status })
      expect([error.size?.maxTokens, error.size?.tokens]).toEqual([maxTokens, tokens])
    },
  )

  test.each(CODES)(
    'field/too-long/%s: the refusal becomes a length error because of its code',
    async (_server, status, body, maxTokens, tokens) => {
      const error = await refusal(provider, status, body)
      expect(error).toMatchObject({ code: 'context_length', retryable: false })
      expect([error.size?.maxTokens, error.size?.tokens]).toEqual([maxTokens, tokens])
    },
  )

  test('a refusal that quotes the conversation is not mistaken for a length error', async () => {
    const input = [{ role: 'user', content: 'why is the prompt too long? the context window is 4096 tokens' }]
    const detail = [{ type: 'missing', loc: ['body', 'tools'], msg: 'Field required', input }]
    expect(await refusal(provider, 422, JSON.stringify({ detail }))).toMatchObject({ code: 'invalid_request' })
  })

  test('a length error in the detail of a body is recognised', async () => {
    const detail = [{ type: 'value_error', loc: ['body'], msg: 'prompt is too long: 9001 tokens > 8192 maximum' }]
    const error = await refusal(provider, 422, JSON.stringify({ detail }))
    expect(error).toMatchObject({ code: 'context_length', size: { maxTokens: 8192, tokens: 9001 } })
  })

  test.each([
    [400, "max_tokens (384000) exceeds model's maximum output tokens (65536) for model deepseek-v4-flash"],
    [
      400,
      'max_completion_tokens must be less than or equal to 40960, the maximum value is less than the context_window',
    ],
    [
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (809 in the messages, 8192 in the completion).",
    ],
    [400, 'messages.3: tool_use ids must be unique'],
    [422, 'tools.0.name: string does not match the pattern'],
  ])('status %i, "%s", is no length error', async (status, message) => {
    expect(await refusal(provider, status, bodyOf(message))).toMatchObject({ code: 'invalid_request', status })
  })
})
