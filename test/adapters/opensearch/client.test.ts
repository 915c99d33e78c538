import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createOpenSearchClient } from '../../../functions/adapters/opensearch/client.ts'
import { createSend } from '../../../functions/adapters/opensearch/requests.ts'

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function server(): Promise<{ endpoint: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const listener = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  closing.push(async () => {
    listener.closeAllConnections()
    listener.close()
    await once(listener, 'close')
  })
  return { endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, seen }
}

const SECRET = 'a-secret-of-nobody'
const credentials = async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, sessionToken: 'a-token' })
const hex = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Computes the signature of a received request like AWS (Signature Version 4). */
function signatureOf({ method, path, headers, body }: Seen, region: string, service: string): string {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1] ?? ''
  const canonicalHeaders = names.split(';').map((name) => `${name}:${String(headers[name])}\n`)
  const canonical = [method, path.replaceAll('*', '%2A'), '', canonicalHeaders.join(''), names, hex(body)].join('\n')
  const time = String(headers['x-amz-date'])
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`
  const key = [region, service, 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${SECRET}`, time.slice(0, 8)))
  return hmac(key, ['AWS4-HMAC-SHA256', time, scope, hex(canonical)].join('\n')).toString('hex')
}

test.each(['aoss', 'es'] as const)('requests to %s carry a signature that covers body and session', async (service) => {
  const { endpoint, seen } = await server()
  const client = createOpenSearchClient({ endpoint, signing: { region: 'eu-central-1', service, credentials } })
  const send = createSend(client)
  await send({ method: 'POST', path: '/history/_search', body: { query: { match_all: {} }, text: 'ä 東京' } })
  await send({ method: 'POST', path: '/_bulk', lines: ['{"index":{}}', '{"a":"é"}'] })
  await send({ method: 'GET', path: '/_alias/history' })
  await client.close()
  expect(seen).toHaveLength(3)
  for (const request of seen) {
    const { headers, body } = request
    expect(headers.authorization).toContain(`/eu-central-1/${service}/aws4_request`)
    expect(headers.authorization).toContain(`Signature=${signatureOf(request, 'eu-central-1', service)}`)
    // OpenSearch Serverless refuses requests without this header.
    expect(headers['x-amz-content-sha256']).toBe(hex(body))
    expect(headers['x-amz-security-token']).toBe('a-token')
    // OpenSearch Serverless rejects a signature that covers the length.
    expect(headers.authorization).not.toContain('content-length')
    if (body !== '') expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  }
})

test('without a signer, requests carry no signature', async () => {
  const { endpoint, seen } = await server()
  const client = createOpenSearchClient({ endpoint })
  await createSend(client)({ method: 'GET', path: '/_alias/history' })
  await client.close()
  expect(seen[0]?.headers.authorization).toBeUndefined()
})

test('a reused connection that was closed meanwhile is replaced, and the request is sent once more', async () => {
  const paths: string[] = []
  let requests = 0
  const listener = createServer((request, response) => {
    requests++
    // The second request reuses the connection of the first.
    if (requests === 2) return void request.socket.resetAndDestroy()
    paths.push(request.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  closing.push(async () => {
    listener.closeAllConnections()
    listener.close()
    await once(listener, 'close')
  })
  const client = createOpenSearchClient({ endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` })
  const send = createSend(client)
  await send({ method: 'GET', path: '/first' })
  expect(await send({ method: 'GET', path: '/second' })).toEqual({ status: 200, body: {} })
  await client.close()
  expect([paths, requests]).toEqual([['/first', '/second'], 3])
})

test('a server that does not respond causes an error that names the request', async () => {
  const client = createOpenSearchClient({ endpoint: 'http://127.0.0.1:1' })
  await expect(createSend(client)({ method: 'GET', path: '/_alias/history' })).rejects.toThrow('GET /_alias/history')
  await client.close()
})
