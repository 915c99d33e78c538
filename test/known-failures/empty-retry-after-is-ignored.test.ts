/*
 * An empty `Retry-After` counts as none (the backoff of 0.5, 1, 2 s applies), and an empty `retry-after-ms` does not hide a good
 * `Retry-After`. Today both mean "at once": four requests within milliseconds, and the run fails.
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

test('a response 429 with retry-after: 20 has that wait', () => expectRetryAfter({ 'retry-after': '20' }, 20_000))

test.fails.each([
  ['retry-after: (empty)', { 'retry-after': '' }, undefined],
  ['retry-after-ms: (empty), retry-after: 20', { 'retry-after-ms': '', 'retry-after': '20' }, 20_000],
] as const)('a response 429 ignores what is empty of %s', (_name, headers, expected) =>
  expectRetryAfter(headers, expected),
)

async function expectRetryAfter(
  headers: Readonly<Record<string, string>>,
  expected: number | undefined,
): Promise<void> {
  const [provider] = PROVIDERS
  if (provider === undefined) throw new Error('no provider')
  const server = await startRecordingServer(() => ({
    status: 429,
    headers: { 'content-type': 'application/json', ...headers },
    frames: ['{"error":{"message":"slow down"}}'],
  }))
  try {
    const model = await openModel(provider, server)
    const failed = await model
      .stream(REQUEST, AbortSignal.timeout(5_000))
      [Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => error)
    expect((failed as { retryAfterMs?: number }).retryAfterMs).toBe(expected)
  } finally {
    await server.close()
  }
}
