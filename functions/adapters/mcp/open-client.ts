import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ReconnectionScheduler } from '@modelcontextprotocol/client'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { LookupFunction } from 'node:net'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Clock } from '../../ports/clock.ts'
import { MAX_TIMEOUT_FACTOR } from '../../ports/tool.ts'
import { guardedFetch } from '../../tools/guarded-fetch.ts'
import type { ResponseLimits } from '../../tools/guarded-fetch.ts'
import { boundedResponse } from './bounded-response.ts'
import type { RequestPlaces } from './request-places.ts'

export const DEFAULT_LIST_MS = 10_000
/** Pages of a list. */
const MAX_PAGES = 16

/** What a response may take, by what it is: a stream that announces changes, a call's result, an acknowledgement, or anything else. */
const STANDING: ResponseLimits = { bytes: 4 * 1024 * 1024, milliseconds: 10 * 60_000 }
const RESULT_BYTES = 28 * 1024 * 1024
const ACKNOWLEDGEMENT: ResponseLimits = { bytes: 64 * 1024, milliseconds: 10_000 }
const OTHER: ResponseLimits = { bytes: 2 * 1024 * 1024, milliseconds: 30_000 }
/** Added to the time of a call: the call's own limit must come first. */
export const MARGIN_MS = 5_000

/** Milliseconds before a stream that has ended is opened again, whatever its server asks for: doubled each time. */
const MIN_RECONNECT_MS = 250
const MAX_RECONNECT_MS = 60_000

export interface ConnectionSettings {
  readonly url: string
  /** Read for each request, so that a changed secret is used. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  /** The longest that any call of its tools may take, in milliseconds. */
  readonly longestMs: number
  readonly version: string
  /** Milliseconds for connecting and listing together. @default 10 s */
  readonly listMs?: number
  readonly allowedHosts: readonly string[]
  readonly lookup?: LookupFunction
  readonly clock: Clock
}

/** One request of ours while it is under way, with all streams that bring its response. */
interface InFlight {
  /** Ends its streams: the protocol would leave them open when the request is given up, or has been answered elsewhere. */
  readonly signal: AbortSignal
  reconnects: number
}
const inFlight = new AsyncLocalStorage<InFlight>()

/** Does `work`, which sends one request. Its streams end with it, or when the signal aborts. */
export async function withStreams<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  const over = new AbortController()
  try {
    return await inFlight.run({ signal: AbortSignal.any([signal, over.signal]), reconnects: 0 }, work)
  } finally {
    over.abort()
  }
}

/**
 * A client that has introduced itself to the server. `answers`: places for what is sent without waiting for a result, such as
 * answers to the server's pings.
 */
export async function openClient(
  settings: ConnectionSettings,
  answers: RequestPlaces,
  on: { readonly changed: () => void; readonly lost: () => void },
): Promise<Client> {
  const client = new Client(
    { name: 'tooltrail', version: settings.version },
    {
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      // Results go on as they are. The schemas are foreign: to compile them could take any time.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: on.changed } },
    },
  )
  client.onclose = on.lost
  const origin = new URL(settings.url)
  // So that a missing secret is named, and not wrapped in what the protocol makes of it.
  await settings.headers()
  const transport = new StreamableHTTPClientTransport(origin, {
    fetch: createFetch(settings, answers),
    reconnectionScheduler: createReconnections(settings.clock),
  })
  await client.connect(transport, { timeout: settings.listMs ?? DEFAULT_LIST_MS })
  return client
}

type Fetch = (address: string | URL, init?: RequestInit) => Promise<Response>

function createFetch(settings: ConnectionSettings, answers: RequestPlaces): Fetch {
  const { origin } = new URL(settings.url)
  return async (address, init = {}) => {
    const url = new URL(address)
    const { method = 'GET', body } = init
    const text = typeof body === 'string' ? body : undefined
    const sent = readMessage(text)
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
      return method === 'POST' || response.ok ? boundedResponse(url.host, response, sent.id) : response
    }
    return limits.limits === ACKNOWLEDGEMENT ? answers.send('', init.signal ?? undefined, send) : send()
  }
}

/** A message of the protocol: a request, a notice without an `id`, or an answer without a `method`. */
interface Sent {
  readonly method?: unknown
  readonly id?: unknown
}

const readMessage = (body = '{}'): Sent => JSON.parse(body) as Sent

function limitsOf(
  { longestMs }: ConnectionSettings,
  method: string,
  sent: Sent,
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

/** Opens streams that have ended again: those of a request only while it is under way, and each ever more seldom. */
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
