import { afterEach, expect, test, vi } from 'vitest'
import { createClient } from '../../functions/client/client.ts'

afterEach(() => {
  vi.useRealTimers()
})

const PROBLEM = { 'content-type': 'application/problem+json' }

/** Creates a client of a server that gives every request this response. */
function clientOf(response: () => Response) {
  const fetch = vi.fn<typeof globalThis.fetch>(async () => response())
  return { client: createClient({ url: 'http://localhost:3000', key: 'tt_a', fetch }), fetch }
}

async function firstOf(events: AsyncIterable<unknown>): Promise<void> {
  for await (const event of events) return void event
}

test.each<[string, string, { readonly code: string; readonly message: RegExp }]>([
  ['has no field at all', '{}', { code: 'unexpected_response', message: /401/ }],
  ['has a title alone', '{"title":"No entry","status":200}', { code: 'unexpected_response', message: /^No entry$/ }],
  ['has fields that are no texts', '{"type":7,"detail":null}', { code: 'unexpected_response', message: /401/ }],
  ['is cut short', '{"type":"urn:tooltrail:problem:unauth', { code: 'unexpected_response', message: /401/ }],
  ['is a list', '[]', { code: 'unexpected_response', message: /401/ }],
  ['has a type', '{"type":"urn:x:unauthorized"}', { code: 'unauthorized', message: /401/ }],
])(
  'an error response whose problem %s is reported as an API problem, without a retry',
  async (_, body, { code, message }) => {
    const { client, fetch } = clientOf(() => new Response(body, { status: 401, headers: PROBLEM }))
    const refused = { name: 'ApiProblem', status: 401, code, message: expect.stringMatching(message) as string }
    await expect(client.readSession('s')).rejects.toMatchObject(refused)
    await expect(firstOf(client.follow('s', 'r'))).rejects.toMatchObject(refused)
    expect(fetch).toHaveBeenCalledTimes(2)
  },
)

test('an error response with an aborted body is reported as an API problem', async () => {
  const broken = (): ReadableStream =>
    new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
  const { client } = clientOf(() => new Response(broken(), { status: 401, headers: PROBLEM }))
  await expect(client.readSession('s')).rejects.toMatchObject({ name: 'ApiProblem', status: 401 })
})

test('truncated JSON is reported as an unexpected response', async () => {
  const { client } = clientOf(() => new Response('{"id":', { headers: { 'content-type': 'application/json' } }))
  await expect(client.readSession('s')).rejects.toMatchObject({ code: 'unexpected_response', status: 200 })
})

test('a redirect is not followed, because it would lose the method and the key', async () => {
  const location = 'https://elsewhere.example/v1/sessions'
  const { client, fetch } = clientOf(() => new Response(null, { status: 301, headers: { location } }))
  await expect(client.createSession({})).rejects.toMatchObject({
    code: 'unexpected_response',
    message: `the address redirects to ${location}: use that one`,
  })
  expect(fetch.mock.calls[0]?.[1]).toMatchObject({ redirect: 'manual' })
  const hidden = clientOf(() => Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' }))
  await expect(hidden.client.createSession({})).rejects.toThrow('the address redirects elsewhere: use that one')
})

test.each(['3600', '2592000'])('a program that is unavailable for %s s is polled each minute', async (seconds) => {
  vi.useFakeTimers()
  const headers = { ...PROBLEM, 'retry-after': seconds }
  const { client, fetch } = clientOf(() => new Response('{}', { status: 503, headers }))
  const left = new AbortController()
  const followed = firstOf(client.follow('s', 'r', { signal: left.signal }))
  await vi.advanceTimersByTimeAsync(59_000)
  expect(fetch).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(fetch).toHaveBeenCalledTimes(2)
  left.abort()
  await followed
})
