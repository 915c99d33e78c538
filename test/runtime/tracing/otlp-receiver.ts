import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

/** The JSON form of OTLP's traces, strictly: ids are hexadecimal, 64-bit numbers are strings, and other fields are refused. */
const Value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.union([z.int(), z.string().regex(/^-?\d+$/)]) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }) }),
])
const Attributes = z.array(z.strictObject({ key: z.string().min(1), value: Value }))
const count = z.int().min(0)
const nanoseconds = z.string().regex(/^\d{19}$/)
const spanId = z.string().regex(/^[0-9a-f]{16}$/)
const Span = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId,
  parentSpanId: spanId.optional(),
  traceState: z.string().optional(),
  flags: count.optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes: Attributes,
  droppedAttributesCount: count,
  events: z.array(z.never()),
  droppedEventsCount: count,
  links: z.array(z.never()),
  droppedLinksCount: count,
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
})
const Traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: Attributes, droppedAttributesCount: count }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(Span) })),
    }),
  ),
})

interface Received extends Omit<z.output<typeof Span>, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>
  /** Attributes of the sender. */
  readonly resource: Readonly<Record<string, unknown>>
}

type Respond = (request: IncomingMessage, response: ServerResponse) => void
const take: Respond = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}')

/** Starts an OTLP endpoint over HTTP that decodes requests and refuses malformed ones. */
export async function startReceiver(respond: Respond = take) {
  const spans: Received[] = []
  const headers: IncomingMessage['headers'][] = []
  const refused: unknown[] = []
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    headers.push(request.headers)
    const parsed = Traces.safeParse(JSON.parse(await text(request)))
    if (!parsed.success || request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json') {
      refused.push(parsed.error ?? request.url)
      response.writeHead(400).end()
      return
    }
    for (const { resource, scopeSpans } of parsed.data.resourceSpans)
      for (const { attributes, ...span } of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, attributes: flat(attributes), resource: flat(resource.attributes) })
    respond(request, response)
  }
  const server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    refused,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const flat = (attributes: z.output<typeof Attributes>): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]))
