import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ReconnectionScheduler } from '@modelcontextprotocol/client'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { LookupFunction } from 'node:net'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Json } from '../../domain/json.ts'
import { wellFormedJson } from '../../log/json/well-formed.ts'
import type { Clock } from '../../ports/clock.ts'
import { MAX_TIMEOUT_FACTOR } from '../../ports/tool.ts'
import { guardedFetch } from '../../tools/guarded-fetch.ts'
import type { ResponseLimits } from '../../tools/guarded-fetch.ts'
import { boundedResponse } from './bounded-response.ts'
import { repairMessage } from './repair-response.ts'
import type { Received, SentRequest } from './repair-response.ts'
import type { RequestSlots } from './request-slots.ts'

export const DEFAULT_LIST_MS = 10_000
/** Maximum number of pages of a list. */
const MAX_PAGES = 16

/**
 * Limits of a response by its kind: the stream for announcements, a call's result, an acknowledgement, or any other
 * response.
 */
const STANDING: ResponseLimits = { bytes: 4 * 1024 * 1024, milliseconds: 10 * 60_000 }
const RESULT_BYTES = 28 * 1024 * 1024
const ACKNOWLEDGEMENT: ResponseLimits = { bytes: 64 * 1024, milliseconds: 10_000 }
const OTHER: ResponseLimits = { bytes: 2 * 1024 * 1024, milliseconds: 30_000 }
/** Margin that is added to a call's timeout for the MCP package. The call's own timeout therefore expires first. */
export const MARGIN_MS = 5_000

/** Delay before an ended stream is opened again, doubled each time. The server cannot shorten it. */
const MIN_RECONNECT_MS = 250
const MAX_RECONNECT_MS = 60_000

export interface ConnectionSettings {
  readonly url: string
  /** Returns the headers. Called for each request, so that a changed secret is used. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  /** Maximum duration of any call of the server's tools. */
  readonly longestMs: number
  readonly version: string
  /** Timeout for connecting and listing together. @default 10 s */
  readonly listMs?: number
  readonly allowedHosts: readonly string[]
  readonly lookup?: LookupFunction
  readonly clock: Clock
}

/** A request in flight, with all streams that carry its response. */
interface InFlight {
  /**
   * Ends the request's streams. Otherwise, the MCP package would leave them open after the request was aborted, or
   * answered on another stream.
   */
  readonly signal: AbortSignal
  reconnects: number
  /** The request as it was last sent. Responses on a reopened stream answer this request. */
  sent?: SentRequest
  readonly received: Received
}
const inFlight = new AsyncLocalStorage<InFlight>()

/**
 * Runs `work`, which sends one request. Its streams end when `work` ends or the signal aborts. `received` gets the
 * results as the server sends them.
 */
export async function withStreams<Result>(
  signal: AbortSignal,
  work: (received: Received) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const received: Received = { pages: [] }
  try {
    const own = { signal: AbortSignal.any([signal, over.signal]), reconnects: 0, received }
    return await inFlight.run(own, () => work(received))
  } finally {
    over.abort()
  }
}

/**
 * Opens and initializes a client. `answers`: slots for messages that expect no result, such as answers to the server's
 * pings.
 */
export async function openClient(
  settings: ConnectionSettings,
  answers: RequestSlots,
  on: { readonly changed: () => void; readonly lost: () => void },
): Promise<Client> {
  const client = new Client(
    { name: 'tooltrail', version: settings.version },
    {
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      // Results are not validated here. The schemas come from the server, and compiling them could take very long.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: on.changed } },
    },
  )
  client.onclose = on.lost
  const origin = new URL(settings.url)
  // Fails early if a secret is missing. Otherwise, the MCP package would wrap the error.
  await settings.headers()
  const transport = new StreamableHTTPClientTransport(origin, {
    fetch: createFetch(settings, answers),
    reconnectionScheduler: createReconnections(settings.clock),
  })
  await client.connect(transport, { timeout: settings.listMs ?? DEFAULT_LIST_MS })
  return client
}

type Fetch = (address: string | URL, init?: RequestInit) => Promise<Response>

function createFetch(settings: ConnectionSettings, answers: RequestSlots): Fetch {
  const { origin } = new URL(settings.url)
  return async (address, init = {}) => {
    const url = new URL(address)
    const { method = 'GET', body } = init
    const text = typeof body === 'string' ? wellFormedJson(body) : undefined
    const sent = readMessage(text)
    const own = inFlight.getStore()
    if (own !== undefined && sent.method !== undefined && sent.id !== undefined) own.sent = sent
    const request = method === 'GET' ? own?.sent : sent
    const { signal, ...limits } = limitsOf(settings, method, sent)
    const signals = [init.signal, signal].filter((one) => one !== null && one !== undefined)
    const send = async (): Promise<Response> => {
      const headers = new Headers(init.headers)
      if (url.origin === origin)
        for (const [name, value] of Object.entries(await settings.headers())) headers.set(name, value)
      const response = await guardedFetch(url, {
        method,
        headers,
        ...definedFields({ body: text }),
        ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
        ...limits,
        allowedHosts: settings.allowedHosts,
        ...(settings.lookup && { lookup: settings.lookup }),
      })
      if (method !== 'POST' && !response.ok) return response
      const repair = (message: Json): Json =>
        request === undefined ? message : repairMessage(message, request, own?.received)
      return boundedResponse(url.host, response, sent.id, repair)
    }
    return limits.limits === ACKNOWLEDGEMENT ? answers.send('', init.signal ?? undefined, send) : send()
  }
}

/** Reads a message of the protocol: a request, a notification (without `id`), or an answer (without `method`). */
const readMessage = (body = '{}'): SentRequest => JSON.parse(body) as SentRequest

function limitsOf(
  { longestMs }: ConnectionSettings,
  method: string,
  sent: SentRequest,
): { readonly limits: ResponseLimits; readonly isBackground: boolean; readonly signal?: AbortSignal | undefined } {
  const own = inFlight.getStore()
  const isStanding = (method === 'GET' && own === undefined) || sent.method === 'subscriptions/listen'
  if (isStanding) return { limits: STANDING, isBackground: true }
  const limits = { bytes: RESULT_BYTES, milliseconds: MAX_TIMEOUT_FACTOR * longestMs + 2 * MARGIN_MS }
  if (method === 'GET' || sent.method === 'tools/call') return { limits, isBackground: false, signal: own?.signal }
  if (sent.method === 'tools/list') return { limits: OTHER, isBackground: false, signal: own?.signal }
  const isAnswer = method === 'POST' && sent.method === undefined
  if (isAnswer || sent.method === 'notifications/cancelled') return { limits: ACKNOWLEDGEMENT, isBackground: true }
  return { limits: OTHER, isBackground: false }
}

/**
 * Opens ended streams again with growing delays. The stream of a request is reopened only while the request is in
 * flight.
 */
function createReconnections(clock: Pick<Clock, 'sleep'>): ReconnectionScheduler {
  const standing = { reconnects: 0 }
  return (reconnect, wantedMs) => {
    const own = inFlight.getStore()
    const count = own ?? standing
    const leastMs = MIN_RECONNECT_MS * 2 ** count.reconnects++
    const waitMs = Math.min(Math.max(wantedMs, leastMs), MAX_RECONNECT_MS)
    const closed = new AbortController()
    const signal = own === undefined ? closed.signal : AbortSignal.any([closed.signal, own.signal])
    clock.sleep(waitMs, signal).then(reconnect, () => undefined)
    return () => closed.abort()
  }
}
