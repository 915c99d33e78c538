import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { APICallError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { readCompletion } from '../../../functions/adapters/models/completion-stream.ts'
import { toModelError } from '../../../functions/adapters/models/errors/model-error.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'

/** Yields the parts of a stream that ends in the middle of a call, with this finish reason. */
async function* cutWithinCall(
  unified: 'length' | 'tool-calls' | 'content-filter' | 'error',
): AsyncIterable<LanguageModelV4StreamPart> {
  yield { type: 'tool-input-start', id: 'c', toolName: 'shell' }
  yield { type: 'tool-input-delta', id: 'c', delta: '{"cmd":"l' }
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }
  const usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } }
  yield { type: 'finish', finishReason: { unified, raw: unified }, usage }
}

async function lastEvent(stream: AsyncIterable<LanguageModelV4StreamPart>): Promise<ModelEvent | undefined> {
  let last: ModelEvent | undefined
  for await (const event of readCompletion(stream, { provider: 'p', modelId: 'm' })) last = event
  return last
}

test('a call that the token limit truncated is stored with its partial arguments', async () => {
  expect(await lastEvent(cutWithinCall('length'))).toMatchObject({
    type: 'completion',
    completion: { finishReason: 'length', toolCalls: [{ id: 'c', name: 'shell', arguments: '{"cmd":"l' }] },
  })
})

test('a call that was truncated for a reason other than the token limit causes a retryable error', async () => {
  await expect(lastEvent(cutWithinCall('tool-calls'))).rejects.toMatchObject({ code: 'network', retryable: true })
})

test.each([
  ['content-filter', 'refused'],
  ['error', 'provider_error'],
  ['tool-calls', 'network'],
] as const)('a completion that ends with %s is an error that includes its usage', async (unified, code) => {
  await expect(lastEvent(cutWithinCall(unified))).rejects.toMatchObject({
    code,
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  })
})

test.each([
  ['Rate limit reached', '{"error":{"code":"rate_limit_exceeded"}}', true],
  ['You exceeded your current quota', '{"error":{"code":"insufficient_quota"}}', false],
  ['Your credit balance is too low', '{}', false],
])('status 429 with "%s" and %s: retryable is %s', (message, responseBody, retryable) => {
  const error = new APICallError({ message, url: '', requestBodyValues: {}, statusCode: 429, responseBody })
  expect(toModelError(error)).toMatchObject({ code: 'rate_limited', retryable })
})
