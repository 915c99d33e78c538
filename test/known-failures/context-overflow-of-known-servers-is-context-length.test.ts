/*
 * A request that is too long for the model fails as `context_length`, so that the loop shortens it and asks again. Today sentences of
 * widely used servers are not recognised: the failure becomes `invalid_request`, the run fails, and so does every later run of the
 * session. The sentences are those of the servers' public error messages.
 *
 * Suite: test/adapters/models/
 */
import { expect, test } from 'vitest'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import { startRecordingServer } from '../model-server/recording-server.ts'
import { openModel, PROVIDERS } from '../adapters/models/providers.ts'

const REQUEST: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [],
  toolChoice: 'auto',
  options: {},
}

test.each([
  ['OpenAI', "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."],
  ['Gemini', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
] as const)('a context overflow of %s is reported as context_length', (_name, message) => expectContextLength(message))

test.fails.each([
  ['llama.cpp', 'request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it'],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 136973 tokens."],
  ['Moonshot', 'Invalid request: Your request exceeded model token limit: 8192'],
  ['Z.ai', 'Prompt exceeds max length'],
  ['TGI', 'Input validation error: `inputs` must have less than 4096 tokens. Given: 9001'],
] as const)('a context overflow of %s is reported as context_length', (_name, message) => expectContextLength(message))

async function expectContextLength(message: string): Promise<void> {
  const provider = PROVIDERS.find(({ name }) => name === 'openai-compatible')
  if (provider === undefined) throw new Error('no provider')
  const server = await startRecordingServer(() => ({
    status: 400,
    headers: { 'content-type': 'application/json' },
    frames: [JSON.stringify({ error: { code: 400, message, type: 'invalid_request_error' } })],
  }))
  try {
    const model = await openModel(provider, server)
    const events = model.stream(REQUEST, AbortSignal.timeout(5_000))[Symbol.asyncIterator]()
    const failed: unknown = await events.next().catch((error: unknown) => error)
    expect((failed as { code?: string }).code).toBe('context_length')
  } finally {
    await server.close()
  }
}
