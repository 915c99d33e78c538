import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FunctionPool } from './function-pool.ts'
import { createPreludeReader } from './response-prelude.ts'
import { ACCOUNT } from '../template/resource-names.ts'

/** One method of the API's template, with its resource's path (`/{proxy+}`). */
export interface ApiMethod {
  readonly method: string
  readonly path: string
  readonly pool: FunctionPool
  readonly timeoutMs: number
}

export interface ApiSettings {
  readonly apiId: string
  readonly stage: string
  readonly binaryMediaTypes: readonly string[]
  readonly methods: readonly ApiMethod[]
}

const MAX_BODY_BYTES = 10 * 1024 * 1024
/** Headers that API Gateway does not pass on. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'upgrade'])

/** Starts a REST API like API Gateway's: a stage before the paths, proxy events, and streamed responses. */
export async function startApiGateway(settings: ApiSettings): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    handle(settings, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/${settings.stage}`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function handle(settings: ApiSettings, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://gateway')
  const prefix = `/${settings.stage}`
  if (pathname !== prefix && !pathname.startsWith(`${prefix}/`)) return refuse(response, 403, 'Forbidden')
  const path = pathname.slice(prefix.length) || '/'
  const found = route(settings.methods, request.method ?? '', path)
  // API Gateway's response for unknown methods and paths.
  if (found === undefined) return refuse(response, 403, 'Missing Authentication Token')
  const body = await readBody(request)
  if (body === undefined) return refuse(response, 413, 'Request Too Long')
  const event = {
    ...proxyEvent(settings, found.method, { path, searchParams, request, body }),
    pathParameters: found.proxy === undefined ? null : { proxy: decodeURIComponent(found.proxy) },
  }
  await respond(found.method, event, response)
}

function route(
  methods: readonly ApiMethod[],
  method: string,
  path: string,
): { readonly method: ApiMethod; readonly proxy: string | undefined } | undefined {
  const candidates = methods.filter((one) => one.method === method || one.method === 'ANY')
  const exact = candidates.find((one) => one.path === path)
  if (exact !== undefined) return { method: exact, proxy: undefined }
  // The most specific resource comes first.
  for (const one of candidates.toSorted((left, right) => right.path.length - left.path.length)) {
    const [, base] = /^(.*\/)\{proxy\+\}$/.exec(one.path) ?? []
    if (base !== undefined && path.startsWith(base) && path.length > base.length)
      return { method: one, proxy: path.slice(base.length) }
  }
  return undefined
}

interface Received {
  readonly path: string
  readonly searchParams: URLSearchParams
  readonly request: IncomingMessage
  readonly body: Buffer
}

/** A proxy event of version 1, which a REST API sends to Lambda. */
function proxyEvent(
  { apiId, stage, binaryMediaTypes }: ApiSettings,
  { path: resource }: ApiMethod,
  { path, searchParams, request, body }: Received,
): object {
  const multiValueHeaders: Record<string, string[]> = {}
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? ''
    if (!HOP_BY_HOP.has(name.toLowerCase())) (multiValueHeaders[name] ??= []).push(request.rawHeaders[at + 1] ?? '')
  }
  const query = Object.fromEntries([...searchParams.keys()].map((key) => [key, searchParams.getAll(key)]))
  const isBinary = isBinaryType(request.headers['content-type'] ?? 'application/json', binaryMediaTypes)
  const now = new Date()
  return {
    resource,
    path,
    httpMethod: request.method,
    headers: lastOfEach(multiValueHeaders),
    multiValueHeaders,
    queryStringParameters: searchParams.size === 0 ? null : lastOfEach(query),
    multiValueQueryStringParameters: searchParams.size === 0 ? null : query,
    stageVariables: null,
    requestContext: {
      accountId: ACCOUNT,
      apiId,
      domainName: request.headers.host,
      domainPrefix: apiId,
      extendedRequestId: randomUUID(),
      httpMethod: request.method,
      identity: { sourceIp: '127.0.0.1', userAgent: request.headers['user-agent'] ?? null },
      path: `/${stage}${path}`,
      protocol: 'HTTP/1.1',
      requestId: randomUUID(),
      requestTime: now.toUTCString(),
      requestTimeEpoch: now.getTime(),
      resourceId: 'resource',
      resourcePath: resource,
      stage,
    },
    body: body.byteLength === 0 ? null : body.toString(isBinary ? 'base64' : 'utf8'),
    isBase64Encoded: isBinary && body.byteLength > 0,
  }
}

const lastOfEach = (values: Readonly<Record<string, readonly string[]>>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.at(-1)]))

const isBinaryType = (type: string, wanted: readonly string[]): boolean => {
  const media = type.split(';')[0]?.trim().toLowerCase() ?? ''
  return wanted.some((one) => one === '*/*' || one === media || one === `${media.split('/')[0]}/*`)
}

/** Sends the status and the headers of the prelude, then each chunk on arrival. */
async function respond({ pool, timeoutMs }: ApiMethod, event: object, response: ServerResponse): Promise<void> {
  let isHttp = false
  const prelude = createPreludeReader({
    head({ statusCode, headers, cookies }) {
      if (cookies.length > 0) response.setHeader('set-cookie', cookies)
      response.writeHead(statusCode, headers)
      response.flushHeaders()
    },
    body: (bytes) => void response.write(bytes),
  })
  const tooLate = setTimeout(() => {
    if (response.headersSent) response.destroy()
    else refuse(response, 504, 'Endpoint request timed out')
  }, timeoutMs)
  const outcome = await pool.invoke(event, {
    start: (type) => void (isHttp = type === 'application/vnd.awslambda.http-integration-response'),
    chunk: (bytes) => {
      if (isHttp && !response.writableEnded) prelude.read(bytes)
    },
  })
  clearTimeout(tooLate)
  if (response.writableEnded || response.destroyed) return
  if (response.headersSent) return outcome.ok ? void response.end() : void response.destroy()
  if (!outcome.ok && outcome.errorType === 'RequestEntityTooLarge') return refuse(response, 413, 'Request Too Long')
  refuse(response, 502, 'Internal server error')
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks)
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }))
}
