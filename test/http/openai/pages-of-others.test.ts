/* Evidence, clients: Client packages work in pages of another origin only if a setting names that origin. */
/* Evidence, access: While no key exists, OpenAI's paths accept a made-up key, unless it looks like one of our keys. */
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import type { Turn } from '../../agent/harness.ts'
import { openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { openAiClient, refusal } from './openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const PAGE = 'https://app.example'
const ALWAYS_SENT = new Set(['accept', 'accept-language', 'content-language', 'content-type'])
const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }]

async function open(options: Parameters<typeof openHttpHarness>[0] = {}): Promise<OpenAI> {
  harness = await openHttpHarness({ ...options, settings: { corsOrigins: [PAGE] } })
  const { authorization } = await harness.key()
  const apiKey = authorization.slice('Bearer '.length)
  return new OpenAI({ baseURL: 'http://localhost:3000/openai/v1', apiKey, fetch: fetchOfPage })
}

/** Behaves like a browser for a page: sends a preflight, sends only allowed requests, and hides headers that are not exposed. */
async function fetchOfPage(input: unknown, init: unknown): Promise<Response> {
  const request = new Request(input as Request, init as RequestInit)
  const names = [...request.headers.keys()].filter((name) => !ALWAYS_SENT.has(name))
  const asked = { 'access-control-request-method': request.method, 'access-control-request-headers': names.join(',') }
  const preflight = await harness.program.app.request(request.url, {
    method: 'OPTIONS',
    headers: { origin: PAGE, ...asked },
  })
  const allowed = listIn(preflight, 'access-control-allow-headers')
  for (const name of names) if (!allowed.includes(name)) throw new TypeError(`Failed to fetch: ${name} is not allowed`)
  request.headers.set('origin', PAGE)
  const response = await harness.program.app.fetch(request)
  if (response.headers.get('access-control-allow-origin') !== PAGE) throw new TypeError('Failed to fetch')
  const shown = ['content-type', ...listIn(response, 'access-control-expose-headers')]
  const headers = [...response.headers].filter(([name]) => shown.includes(name))
  return new Response(response.body, { status: response.status, headers })
}

const listIn = ({ headers }: Response, name: string): string[] =>
  (headers.get(name) ?? '').split(',').map((one) => one.trim().toLowerCase())

describe("OpenAI's package in a page of another origin", () => {
  test('may send the additional headers of its stream helpers, and our own headers', async () => {
    const client = await open()
    const stream = client.chat.completions.stream(
      { model: 'default', messages: hello },
      { headers: { 'x-session-id': 's', 'x-tooltrail-tools': 'text' } },
    )
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('stop')
    const response = await client.responses.stream({ model: 'default', input: 'Hello' }).finalResponse()
    expect(response.status).toBe('completed')
  })

  test('learns from the response that a failed run must not be repeated', async () => {
    const client = await open({ script: [fails] })
    expect(await refusal(client.chat.completions.create({ model: 'default', messages: hello }))).toMatchObject({
      status: 502,
    })
    expect(harness.requests).toHaveLength(1)
  })
})

// eslint-disable-next-line require-yield
const fails: Turn = async function* () {
  throw new ModelError('provider_error', 'the model is gone', { retryable: false })
}

describe("while no key exists, OpenAI's paths", () => {
  test.each(['none', 'sk-proj-1234', 'x'.repeat(43)])('accept an invented key: %s', async (apiKey) => {
    harness = await openHttpHarness()
    expect((await openAiClient(harness, { apiKey }).models.list()).data.length).toBeGreaterThan(0)
  })

  test.each(['tt_whatever', `tt_${'x'.repeat(43)}`])(
    'and all other paths reject an unknown key with our prefix: %s',
    async (apiKey) => {
      harness = await openHttpHarness()
      expect(await refusal(openAiClient(harness, { apiKey }).models.list())).toMatchObject({ status: 401 })
      const headers = { authorization: `Bearer ${apiKey}` }
      for (const [path, body] of [
        ['/v1/chat', {}],
        ['/v1/ag-ui/default', {}],
        ['/v1/sessions', {}],
      ] as const)
        expect((await harness.send('POST', path, body, headers)).status, path).toBe(401)
    },
  )
})
