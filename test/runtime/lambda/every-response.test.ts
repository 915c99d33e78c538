import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStreamingHandler } from '../../../functions/runtime/lambda/streaming.ts'
import type { StreamingHandler } from '../../../functions/runtime/lambda/streaming.ts'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../http/harness.ts'
import type { HttpHarness } from '../../http/harness.ts'
import { eventOf, putLambdaGlobal, removeLambdaGlobal, streamed } from './lambda-global.ts'

interface Message {
  readonly id: string
  readonly role: string
  readonly output?: { readonly url: string }
}

let harness: HttpHarness
let handler: StreamingHandler
let messages: readonly Message[]
beforeAll(async () => {
  putLambdaGlobal()
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'silent' }] }, { text: 'ok' }],
    tools: [makeTool('silent', async () => ({ text: '' }))],
    settings: { openAccess: false },
  })
  const key = await harness.key({ scopes: ['admin'] })
  handler = createStreamingHandler(
    async (request) => {
      if (!request.headers.has('x-no-key')) request.headers.set('authorization', key.authorization)
      return harness.program.app.fetch(request)
    },
    (_context, work) => work(),
  )
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
  const said = { content: 'hi' }
  ;({ messages } = await expectJson<{ messages: Message[] }>(
    harness,
    200,
    'POST',
    '/v1/sessions/s/messages',
    said,
    key,
  ))
})
afterAll(async () => {
  removeLambdaGlobal()
  await harness.close()
})

/** Every path in the OpenAPI document, the paths of the page and the docs, and an unknown path. */
const paths = (): string[] => {
  const ids = { session: 's', message: messages[0]?.id ?? '', run: 'none', deletion: 'none' }
  const described = Object.keys(harness.document.paths).map((path) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof ids) => ids[name]),
  )
  return [...described, '/', '/docs', '/openapi.json', '/nowhere']
}

test('every path returns a status and headers for every method, without a body and with a malformed body', async () => {
  const statuses = new Set<number>()
  for (const path of paths())
    for (const httpMethod of ['HEAD', 'OPTIONS', 'GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'TRACE'])
      for (const body of [null, '{'])
        if (!(httpMethod === 'DELETE' && path === '/v1/sessions/s'))
          statuses.add((await streamed(handler, eventOf(path, { httpMethod, body }))).prelude.statusCode)
  expect([...statuses].filter((status) => status >= 500)).toEqual([])
  expect(statuses.size).toBeGreaterThan(3)
})

test('a caller without a key is refused', async () => {
  const { prelude } = await streamed(handler, eventOf('/v1/sessions', { multiValueHeaders: { 'X-No-Key': ['1'] } }))
  expect(prelude.statusCode).toBe(401)
})

test('an empty output and a cached output are both sent with their headers', async () => {
  const url = messages.find(({ output }) => output !== undefined)?.output?.url ?? ''
  const whole = await streamed(handler, eventOf(url))
  expect([whole.prelude.statusCode, whole.prelude.headers['content-length'], whole.body.length]).toEqual([200, '0', 0])
  const ifNoneMatch = [whole.prelude.headers['etag'] ?? '']
  const same = await streamed(handler, eventOf(url, { multiValueHeaders: { 'If-None-Match': ifNoneMatch } }))
  expect([same.prelude.statusCode, same.body.length]).toEqual([304, 0])
})

test('an event stream and a deletion are sent with their status and headers', async () => {
  const multiValueHeaders = { Accept: ['text/event-stream'], 'Content-Type': ['application/json'] }
  const sent = { httpMethod: 'POST', body: JSON.stringify({ content: 'again' }), multiValueHeaders }
  const stream = await streamed(handler, eventOf('/v1/sessions/s/messages', sent))
  expect([stream.prelude.statusCode, stream.prelude.headers['content-type']]).toEqual([200, 'text/event-stream'])
  const deleted = await streamed(handler, eventOf('/v1/sessions/s', { httpMethod: 'DELETE' }))
  expect(deleted.prelude.statusCode).toBeLessThan(300)
})
