import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { createSecretModels, openSecret } from '../../../functions/runtime/aws/secrets.ts'

const SECRET = 'tooltrail-dev-models'
const VALUE = 'sk-ant-never-to-be-seen'
const REQUEST: ModelRequest = { messages: [], tools: [], toolChoice: 'auto', options: {} }

/** The response of the local Secrets Manager server. */
let reply: { status: number; body: object }
let reads: unknown[]
let server: ReturnType<typeof createServer>
let warnings: string[]
/** Keys that the model's provider received. */
let keys: (string | null)[]

beforeEach(async () => {
  reads = []
  warnings = []
  keys = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      reads.push(JSON.parse(body))
      const headers = { 'content-type': 'application/x-amz-json-1.1' }
      response.writeHead(reply.status, headers).end(JSON.stringify(reply.body))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  vi.useRealTimers()
  server.closeAllConnections()
  server.close()
})

const holds = (text: string): void => void (reply = { status: 200, body: { Name: SECRET, SecretString: text } })

const config = () => ({
  region: 'eu-central-1',
  endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  maxAttempts: 1,
})

const open = () =>
  createSecretModels({
    secret: openSecret(config(), SECRET),
    bedrock: { region: 'eu-central-1', credentials: async () => ({ accessKeyId: 'role', secretAccessKey: 'role' }) },
    logger: { warn: (message, fields) => void warnings.push(JSON.stringify([message, fields])) },
    fetch: async (_url, init) => {
      const headers = new Headers(init?.headers)
      keys.push(headers.get('x-api-key') ?? headers.get('authorization'))
      return new Response('{}', { status: 401 })
    },
  })

/** Requests a completion, which sends a key to the provider. */
async function ask(models: ReturnType<typeof open>, name = 'anthropic/claude-test'): Promise<void> {
  const model = await models.open(name)
  await expect(model.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]().next()).rejects.toThrow()
}

test('models read their keys from the secret, which is fetched once for many models', async () => {
  holds(JSON.stringify({ ANTHROPIC_API_KEY: VALUE }))
  const models = open()
  expect(reads).toEqual([])
  await ask(models)
  await ask(models)
  expect(keys).toEqual([VALUE, VALUE])
  expect(reads).toEqual([{ SecretId: SECRET }])
})

test('a rotated key is used within five minutes', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  holds(JSON.stringify({ ANTHROPIC_API_KEY: 'old' }))
  const models = open()
  await ask(models)
  holds(JSON.stringify({ ANTHROPIC_API_KEY: 'new' }))
  vi.setSystemTime(Date.now() + 301_000)
  await ask(models)
  expect(keys).toEqual(['old', 'new'])
})

test('the last valid keys are used while the secret cannot be read', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  holds(JSON.stringify({ ANTHROPIC_API_KEY: VALUE }))
  const models = open()
  await ask(models)
  reply = { status: 400, body: { __type: 'AccessDeniedException', message: 'no' } }
  vi.setSystemTime(Date.now() + 301_000)
  await ask(models)
  expect(keys).toEqual([VALUE, VALUE])
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).not.toContain(VALUE)
})

test('Bedrock requests use the function’s own role, unless the secret has a key for Bedrock', async () => {
  holds('{}')
  await ask(open(), 'bedrock/us.anthropic.claude-test')
  holds(JSON.stringify({ AWS_BEARER_TOKEN_BEDROCK: 'bedrock-key' }))
  await ask(open(), 'bedrock/us.anthropic.claude-test')
  expect(keys[0]).toContain('Credential=role/')
  expect(keys[1]).toBe('Bearer bedrock-key')
})

test.each([
  ['is no JSON', `ANTHROPIC_API_KEY=${VALUE}`, 'JSON object'],
  ['is a list', JSON.stringify([VALUE]), 'JSON object'],
  ['has a setting that is no text', JSON.stringify({ ANTHROPIC_API_KEY: [VALUE] }), 'ANTHROPIC_API_KEY'],
  ['has a setting that there is not', JSON.stringify({ ANTROPIC_API_KEY: VALUE }), 'ANTROPIC_API_KEY'],
  ['has invalid headers', JSON.stringify({ OTEL_EXPORTER_OTLP_HEADERS: VALUE }), 'OTEL_EXPORTER_OTLP_HEADERS'],
  ['has an invalid address', JSON.stringify({ MODEL_BASE_URL: VALUE }), 'MODEL_BASE_URL'],
])('for a secret that %s, the error names the secret and problem, never the value', async (_, text, named) => {
  holds(text)
  const error = await open().open('anthropic/claude-test').then(String, String)
  expect(error).toContain(`secret ${SECRET}`)
  expect(error).toContain(named)
  expect(error).not.toContain(VALUE)
})

test('trace headers are read from the secret, and are empty if the secret has none', async () => {
  holds(JSON.stringify({ OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${VALUE}` }))
  expect((await openSecret(config(), SECRET).read()).traceHeaders).toEqual({ 'x-api-key': VALUE })
  holds('{}')
  expect((await openSecret(config(), SECRET).read()).traceHeaders).toEqual({})
})

test('a missing secret causes an error with the secret’s name', async () => {
  reply = { status: 400, body: { __type: 'ResourceNotFoundException', message: "can't find it" } }
  await expect(open().open('anthropic/claude-test')).rejects.toMatchObject({
    code: 'authentication',
    message: expect.stringContaining(`secret ${SECRET}`) as string,
  })
})

test('a missing key in the secret causes an error that names the key', async () => {
  holds('{}')
  await expect(open().open('openai/gpt-test')).rejects.toThrow('OPENAI_API_KEY')
})
