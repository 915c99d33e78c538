import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import type { RecordingServer, Reply } from '../../model-server/recording-server.ts'
import { sse } from '../../model-server/scripted-completion.ts'
import { openModel, PROVIDERS } from './providers.ts'
import type { Provider } from './providers.ts'

const REQUEST: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools: [],
  toolChoice: 'auto',
  options: {},
}
const MEBIBYTE = 'x'.repeat(1024 * 1024)

const servers: RecordingServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

async function serve(reply: (index: number) => Reply): Promise<RecordingServer> {
  const server = await startRecordingServer((_request, index) => reply(index))
  servers.push(server)
  return server
}

async function failureAt(provider: Provider, server: RecordingServer): Promise<ModelError> {
  const model = await openModel(provider, server)
  try {
    for await (const _event of model.stream(REQUEST, new AbortController().signal));
  } catch (error) {
    if (error instanceof ModelError) return error
    throw error
  }
  throw new Error('the completion did not fail')
}

for (const provider of PROVIDERS) {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`${provider.name}: a redirect with status ${status} causes an error, and its target gets no request`, async () => {
      const target = await serve(() => ({ frames: [] }))
      const location = `${target.url}/v1/elsewhere?key=secret`
      const server = await serve(() => ({ status, headers: { location }, frames: ['moved'] }))
      const failure = await failureAt(provider, server)
      expect(failure).toMatchObject({ code: 'invalid_request', retryable: false, cause: { statusCode: status } })
      expect(failure.message).toContain(`redirects to ${target.url}: `)
      expect(failure.message).not.toContain('secret')
      expect(target.requests).toHaveLength(0)
      expect(server.requests).toHaveLength(1)
    })
  }

  test(`${provider.name}: a redirect on the same server also causes an error`, async () => {
    const server = await serve(() => ({ status: 307, headers: { location: '/v2' }, frames: [] }))
    expect(await failureAt(provider, server)).toMatchObject({ code: 'invalid_request', retryable: false })
    expect(server.requests).toHaveLength(1)
  })

  test(`${provider.name}: the body of an error response may not exceed a size limit`, async () => {
    const headers = { 'content-type': 'application/json' }
    const server = await serve(() => ({ status: 400, headers, frames: Array.from({ length: 200 }, () => MEBIBYTE) }))
    const failure = await failureAt(provider, server)
    expect(failure.retryable).toBe(false)
    expect(failure.message.length).toBeLessThan(1_000)
  })

  test(`${provider.name}: a stream without any event may not exceed a size limit`, async () => {
    const frames = Array.from({ length: 200 }, () => MEBIBYTE)
    const server = await serve(() => ({ headers: { 'content-type': provider.contentType }, frames, end: 'hang' }))
    expect(await failureAt(provider, server)).toBeInstanceOf(ModelError)
  })
}

const chunk = (delta: object): string =>
  sse({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta }] })
const call = (index: number, more: object = {}): object => ({
  tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '' }, ...more }],
})
const repeated = (count: number, make: (index: number) => object): string[] =>
  Array.from({ length: count }, (_, index) => chunk(make(index)))

test.each([
  ['text', repeated(20, () => ({ content: MEBIBYTE }))],
  ['reasoning', repeated(20, () => ({ reasoning_content: MEBIBYTE }))],
  [
    'arguments',
    [chunk(call(0)), ...repeated(20, () => ({ tool_calls: [{ index: 0, function: { arguments: MEBIBYTE } }] }))],
  ],
  ['names', repeated(20, (index) => call(index, { function: { name: MEBIBYTE, arguments: '' } }))],
])('an endless completion of %s fails at 8,000,000 characters', async (_kind, frames) => {
  const [provider] = PROVIDERS
  if (provider === undefined) throw new Error('no provider')
  const server = await serve(() => ({ headers: { 'content-type': 'text/event-stream' }, frames, end: 'hang' }))
  const failure = await failureAt(provider, server)
  expect(failure).toMatchObject({ code: 'provider_error', retryable: false })
  expect(failure.message).toBe('the completion exceeds the limit of 8,000,000 characters')
})

test('a completion of many calls fails at 4,096 parts', async () => {
  const [provider] = PROVIDERS
  if (provider === undefined) throw new Error('no provider')
  const frames = repeated(5_000, (index) => call(index))
  const server = await serve(() => ({ headers: { 'content-type': 'text/event-stream' }, frames, end: 'hang' }))
  const failure = await failureAt(provider, server)
  expect(failure).toMatchObject({ code: 'provider_error', retryable: false })
  expect(failure.message).toBe('the completion exceeds the limit of 4,096 parts')
})

test('provider metadata of a short completion counts towards its limit', async () => {
  const [provider] = PROVIDERS
  if (provider === undefined) throw new Error('no provider')
  const end = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const frames = [
    chunk({ content: 'short' }),
    sse({ ...end, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    sse({ ...end, choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, note: 'x'.repeat(9_000_000) } }),
    'data: [DONE]\n\n',
  ]
  const server = await serve(() => ({ headers: { 'content-type': 'text/event-stream' }, frames }))
  expect((await failureAt(provider, server)).message).toBe('the completion exceeds the limit of 8,000,000 characters')
})
