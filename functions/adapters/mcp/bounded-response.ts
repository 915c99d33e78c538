import type { Json } from '../../domain/json.ts'
import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { readJson } from '../../log/json/exact-json.ts'
import { wellFormedJson } from '../../log/json/well-formed.ts'
import { jsonFault, jsonSize, MAX_JSON_VALUES } from '../../log/json/json-size.ts'

/**
 * Maximum number of JSON values in all events of one stream; hours of progress events have fewer. Each event counts at
 * least `EVENT` values, for its overhead.
 */
const MAX_STREAM_VALUES = 10 * MAX_JSON_VALUES
const EVENT = 8
/**
 * Maximum number of the server's requests, such as pings, in one response. This client answers each one with a request.
 */
const MAX_SERVER_REQUESTS = 100
/** Number of values after which the stream yields to the event loop. */
const AT_ONCE = 5_000

/** Returns the message in the form that the MCP package receives. */
type Repair = (message: Json) => Json

/**
 * Limits a response before the MCP package parses it, so that its JSON takes little time to parse. The limits apply to
 * a body, to each event of a stream, and to all events together. At most `MAX_SERVER_REQUESTS` requests of the server
 * are allowed.
 * If `id` is given, the stream ends after the response with this id. If the stream exceeds a limit, its last event is an error
 * response with this id. Without an `id`, reading the stream fails. For a body that exceeds a limit, the function rejects.
 */
export async function boundedResponse(
  host: string,
  response: Response,
  id?: unknown,
  repair: Repair = (message) => message,
): Promise<Response> {
  const { status, statusText, headers, body } = response
  if (body === null) return response
  const isStream = /^\s*text\/event-stream\b/iu.test(headers.get('content-type') ?? '')
  if (isStream) return streamed(boundedEvents(host, body, id, repair), { status, statusText, headers })
  const text = await response.text()
  const fault = jsonFault(text)
  if (fault !== undefined) throw new RangeError(`${host} sent JSON that ${fault}`)
  const messages = messageIn(text)
  if (Array.isArray(messages) && messages.filter(isRequest).length > MAX_SERVER_REQUESTS) throw tooManyRequests(host)
  if (messages === undefined) return new Response(wellFormedJson(text), { status, statusText, headers })
  const repaired = repair(messages as Json)
  const isNamed = isJson(headers) || !response.ok || id === undefined
  if (repaired === messages && isNamed) return new Response(wellFormedJson(text), { status, statusText, headers })
  const changed = new Headers(headers)
  changed.set('content-type', 'application/json')
  changed.delete('content-length')
  const shown = wellFormedJson(repaired === messages ? text : JSON.stringify(repaired))
  return new Response(shown, { status, statusText, headers: changed })
}

const streamed = (events: AsyncIterable<Uint8Array>, init: ResponseInit): Response =>
  new Response(ReadableStream.from(events), init)

const isJson = (headers: Headers): boolean => /^\s*application\/json\b/iu.test(headers.get('content-type') ?? '')

async function* boundedEvents(
  host: string,
  body: AsyncIterable<Uint8Array>,
  id: unknown,
  repair: Repair,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let total = 0
  let since = 0
  let requests = 0
  try {
    for await (const event of eventsOf(host, body)) {
      const fault = jsonFault(event.data)
      if (fault !== undefined) throw new RangeError(`${host} sent an event that ${fault}`)
      const values = EVENT + jsonSize(event.data).values
      total += values
      if (total > MAX_STREAM_VALUES) throw tooLongStream(host)
      since += values
      if (since > AT_ONCE) {
        since = 0
        await yieldToEventLoop()
      }
      const received = messageIn(event.data)
      const message = received === undefined ? undefined : repair(received as Json)
      if (isRequest(message) && ++requests > MAX_SERVER_REQUESTS) throw tooManyRequests(host)
      yield encoder.encode(wellFormedJson(message === received ? event.text : withData(event, JSON.stringify(message))))
      if (id !== undefined && isResponseTo(message, id)) return
    }
  } catch (error) {
    if (id === undefined) throw error
    const message = error instanceof Error ? error.message : String(error)
    const failure = JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message } })
    yield encoder.encode(`data: ${failure}\n\n`)
  }
}

const tooLongStream = (host: string): RangeError =>
  new RangeError(`${host} sent a stream of more than ${MAX_STREAM_VALUES.toLocaleString('en')} JSON values`)

const tooManyLines = (host: string): RangeError =>
  new RangeError(`${host} sent an event of more than ${MAX_JSON_VALUES.toLocaleString('en')} lines`)

/** Returns the event with other data. Its id and its other fields are kept. */
const withData = ({ text }: StreamedEvent, data: string): string =>
  [...text.split('\n').filter((line) => line !== '' && !/^data(?::|$)/u.test(line)), `data: ${data}`, '', ''].join('\n')

const tooManyRequests = (host: string): RangeError =>
  new RangeError(`${host} sent more than ${MAX_SERVER_REQUESTS} requests in one response`)

/** Parses a JSON message; undefined for any other text, which the MCP package ignores. */
function messageIn(text: string): unknown {
  if (text === '') return undefined
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isRequest = (message: unknown): boolean => isObject(message) && 'method' in message && 'id' in message

const isResponseTo = (message: unknown, id: unknown): boolean =>
  isObject(message) && 'id' in message && message.id === id && ('result' in message || 'error' in message)

/** A section of a stream: a complete event, or lines that belong to none. */
interface StreamedEvent {
  readonly text: string
  readonly data: string
}

const isData = (line: string): boolean => line.startsWith('data:') || line === 'data'

/**
 * Matches a line that is blank, a comment, or a field that SSE defines. Other lines are dropped, because the package's
 * parser creates an error for each of them, which takes about 10 µs.
 */
const KNOWN = /^(?:$|:|(?:data|event|id)(?::|$)|retry: ?\d+$)/u

/**
 * Yields the events of a stream, each with the lines before it. Lines outside events are passed on as they arrive. Lines
 * with unknown fields count toward the limit of lines, but are dropped.
 */
async function* eventsOf(host: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let lines: string[] = []
  let data: string[] = []
  for await (const line of linesOf(body)) {
    lines.push(line)
    if (lines.length > MAX_JSON_VALUES) throw tooManyLines(host)
    if (isData(line)) data.push(line.slice('data:'.length))
    if (line !== '' && data.length > 0) continue
    const known = lines.filter((one) => KNOWN.test(one))
    yield { text: known.map((one) => `${one}\n`).join(''), data: data.join('\n') }
    lines = []
    data = []
  }
}

/** Yields the complete lines. In SSE, a line ends with LF, CR or both. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let begun: string[] = []
  let endedByReturn = false
  for await (const bytes of body) {
    const decoded = decoder.decode(bytes, { stream: true })
    if (decoded === '') continue
    const text = endedByReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded
    endedByReturn = decoded.endsWith('\r')
    const parts = text.split(/\r\n|\r|\n/u)
    const rest = parts.pop() ?? ''
    for (const part of parts) {
      yield begun.length === 0 ? part : [...begun, part].join('')
      begun = []
    }
    if (rest !== '') begun.push(rest)
  }
}
