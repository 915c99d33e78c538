/* Evidence, replay: A completion is stored only if its finish reason is a known normal end. Retries wait long enough. */
/*
 * A completion is stored as complete only if its provider marks it as complete. Gateways end a broken stream with
 * `finish_reason: "error"`, vLLM and SGLang end an aborted one with `"abort"`, Bedrock ends broken calls with `malformed_tool_use`.
 */
import { expect, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { eventFrame } from '../../model-server/bedrock-frames.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import { sse } from '../../model-server/scripted-completion.ts'
import { openModel, PROVIDERS } from './providers.ts'

const REQUEST: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [],
  toolChoice: 'auto',
  options: {},
}
const chunk = (rest: object): string =>
  sse({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...rest })
const HALF = chunk({
  choices: [{ index: 0, delta: { role: 'assistant', content: 'The answer is' }, finish_reason: null }],
})
const failed = (finish: string, more: object = {}): string[] => [
  HALF,
  chunk({ ...more, choices: [{ index: 0, delta: { content: '' }, finish_reason: finish }] }),
  'data: [DONE]\n\n',
]

async function lastEvent(name: string, frames: readonly (string | Uint8Array)[]): Promise<unknown> {
  const provider = PROVIDERS.find((one) => one.name === name)
  if (provider === undefined) throw new Error(name)
  const server = await startRecordingServer(() => ({ frames, headers: { 'content-type': provider.contentType } }))
  try {
    const model = await openModel(provider, server)
    let last: unknown
    for await (const event of model.stream(REQUEST, new AbortController().signal)) last = event
    return last
  } finally {
    await server.close()
  }
}

async function expectFailure(name: string, _reason: string, frames: readonly (string | Uint8Array)[]): Promise<void> {
  await expect(lastEvent(name, frames)).rejects.toMatchObject({ name: 'ModelError', code: 'provider_error' })
}

test.each([
  [
    'openai-compatible',
    'OpenRouter: error with finish_reason error',
    failed('error', { error: { code: 'server_error', message: 'Provider disconnected unexpectedly' } }),
  ],
  ['openai-compatible', 'finish_reason error', failed('error')],
  ['openai-compatible', 'vLLM: finish_reason abort', failed('abort')],
  ['openai-compatible', 'DeepSeek: finish_reason insufficient_system_resource', failed('insufficient_system_resource')],
  ['openai-compatible', 'a finish_reason that nobody knows', failed('quota_reached')],
  [
    'bedrock',
    'malformed_tool_use',
    [
      eventFrame('messageStart', { role: 'assistant' }),
      eventFrame('messageStop', { stopReason: 'malformed_tool_use' }),
      eventFrame('metadata', {
        usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
        metrics: { latencyMs: 1 },
      }),
    ],
  ],
] as const)('%s: %s causes an error instead of a completion', expectFailure)

test.each([
  ['eos_token', 'stop'],
  ['COMPLETE', 'stop'],
  ['model_length', 'length'],
  ['MAX_TOKENS', 'length'],
])('the finish reason %s of a server is mapped to %s', async (raw, finishReason) => {
  const completion = { finishReason, parts: [{ type: 'text', text: 'The answer is' }] }
  expect(await lastEvent('openai-compatible', failed(raw))).toMatchObject({ type: 'completion', completion })
})

test('a completion that a server’s own filter blocked is refused', async () => {
  await expect(lastEvent('openai-compatible', failed('sensitive'))).rejects.toMatchObject({
    code: 'refused',
    retryable: false,
  })
})
