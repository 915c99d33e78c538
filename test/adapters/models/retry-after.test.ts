/* Evidence, replay: A completion is stored only if its finish reason is a known normal end. Retries wait long enough. */
import { expect, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import { openModel, PROVIDERS } from './providers.ts'

const REQUEST: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [],
  toolChoice: 'auto',
  options: {},
}
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toUTCString()

test.each([
  [{ 'retry-after': '20' }, 20_000],
  [{ 'retry-after': ' 1.5 ' }, 1_500],
  [{ 'retry-after-ms': '250', 'retry-after': '20' }, 250],
  [{ 'retry-after-ms': '', 'retry-after': '20' }, 20_000],
  [{ 'retry-after-ms': 'soon', 'retry-after': '20' }, 20_000],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after': '0x10' }, undefined],
  [{ 'retry-after': 'Infinity' }, undefined],
  [{ 'retry-after': '1e9' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
] as const)('a 429 response with %o requests a wait of %s ms', async (headers, expected) => {
  expect(await waitAskedFor(headers)).toBe(expected)
})

test('a 429 response with a date requests a wait until that date', async () => {
  const waitMs = await waitAskedFor({ 'retry-after': IN_AN_HOUR })
  expect(waitMs).toBeGreaterThan(0)
  expect(waitMs).toBeLessThanOrEqual(3_600_000)
})

async function waitAskedFor(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const [provider] = PROVIDERS
  if (provider === undefined) throw new Error('no provider')
  const server = await startRecordingServer(() => ({
    status: 429,
    headers: { 'content-type': 'application/json', ...headers },
    frames: ['{"error":{"message":"slow down"}}'],
  }))
  try {
    const model = await openModel(provider, server)
    const first = model.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]().next()
    const failed: unknown = await first.catch((error: unknown) => error)
    if (!(failed instanceof ModelError)) throw new Error('the request did not fail', { cause: failed })
    expect(failed.code).toBe('rate_limited')
    return failed.retryAfterMs
  } finally {
    await server.close()
  }
}
