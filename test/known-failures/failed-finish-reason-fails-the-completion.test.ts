/*
 * A completion that its provider marks as failed is not stored as a whole one. Gateways end a broken stream with
 * `finish_reason: "error"`, vLLM and SGLang end an aborted one with `"abort"`, Bedrock ends broken calls with `malformed_tool_use`.
 *
 * Suite: test/adapters/models/
 */
import { expect, test } from 'vitest'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import { eventFrame } from '../model-server/bedrock-frames.ts'
import { startRecordingServer } from '../model-server/recording-server.ts'
import { sse } from '../model-server/scripted-completion.ts'
import { openModel, PROVIDERS } from '../adapters/models/providers.ts'

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

async function expectFailure(name: string, _reason: string, frames: readonly (string | Uint8Array)[]): Promise<void> {
  const provider = PROVIDERS.find((one) => one.name === name)
  if (provider === undefined) throw new Error(name)
  const server = await startRecordingServer(() => ({ frames, headers: { 'content-type': provider.contentType } }))
  try {
    const model = await openModel(provider, server)
    const told = async (): Promise<unknown> => {
      let last: unknown
      for await (const event of model.stream(REQUEST, AbortSignal.timeout(5_000))) last = event
      return last
    }
    await expect(told()).rejects.toMatchObject({ name: 'ModelError' })
  } finally {
    await server.close()
  }
}

test.each([
  [
    'openai-compatible',
    'OpenRouter: error with finish_reason error',
    failed('error', { error: { code: 'server_error', message: 'Provider disconnected unexpectedly' } }),
  ],
] as const)('%s: %s is not a completion', expectFailure)
test.fails.each([
  ['openai-compatible', 'finish_reason error', failed('error')],
  ['openai-compatible', 'vLLM: finish_reason abort', failed('abort')],
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
] as const)('%s: %s is not a completion', expectFailure)
