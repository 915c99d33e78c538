import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult, Progress, Tool } from '@modelcontextprotocol/client'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { LookupFunction } from 'node:net'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Clock } from '../../ports/clock.ts'
import { MOST_TIMES } from '../../ports/tool.ts'
import type { ToolContext } from '../../ports/tool.ts'
import { guardedFetch } from '../../tools/guarded-fetch.ts'
import type { ResponseLimits } from '../../tools/guarded-fetch.ts'
import { boundedResponse } from './bounded-response.ts'

/** How long a list that was read counts, and how long a server that could not list is left alone, in milliseconds. */
const FRESH_MS = 60_000
const AVOIDED_MS = 5_000
const DEFAULT_LIST_MS = 10_000
/** Pages of a list. */
const MOST_PAGES = 16

/** What a response may take, by what it is: a stream that announces changes, a call's result, or anything else. */
const STANDING: ResponseLimits = { bytes: 4 * 1024 * 1024, milliseconds: 10 * 60_000 }
const RESULT_BYTES = 28 * 1024 * 1024
const OTHER: ResponseLimits = { bytes: 2 * 1024 * 1024, milliseconds: 30_000 }
/** Added to the time of a call: the call's own limit must come first. */
const MARGIN_MS = 5_000

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
  readonly clock: Pick<Clock, 'now'>
}

/** Ends the stream of the call whose request is being sent: the protocol would leave it open when the call is given up. */
const callSignal = new AsyncLocalStorage<AbortSignal>()

export interface CallOptions {
  readonly signal: AbortSignal
  /** Between two notices of progress. */
  readonly timeoutMs: number
  /** Told of each notice of progress that the server sends. */
  readonly progressed?: ToolContext['progressed']
}

/** One MCP server, as this process talks to it. Connects when it is first used, and again after it was lost. */
export interface McpConnection {
  /** Its tools as it lists them now, or has in the last minute without announcing a change. */
  list(): Promise<readonly Tool[]>
  /** Rejects when the server cannot be reached or refuses. The signal's abort cancels the call at the server, too. */
  call(tool: string, input: JsonObject, options: CallOptions): Promise<CallToolResult>
}

interface Listing {
  readonly tools: Promise<readonly Tool[]>
  readonly until: number
}

/** A connection to an MCP server over streamable HTTP, in whichever revision it speaks. */
export function createConnection(settings: ConnectionSettings): McpConnection {
  const { clock } = settings
  let connected: Promise<Client> | undefined
  let listing: Listing | undefined

  function connect(): Promise<Client> {
    if (connected !== undefined) return connected
    const opening = open(settings, { changed: () => (listing = undefined), lost: () => forget(opening) })
    opening.catch(() => forget(opening))
    return (connected = opening)
  }

  function forget(client: Promise<Client>): void {
    if (connected === client) connected = undefined
  }

  return {
    list() {
      if (listing !== undefined && clock.now() < listing.until) return listing.tools
      const client = connect()
      const tools = readList(client, settings)
      const current = (listing = { tools, until: clock.now() + FRESH_MS })
      tools.catch(() => {
        // A server that stands still is connected to anew, but not at once.
        forget(client)
        if (listing === current) listing = { tools, until: clock.now() + AVOIDED_MS }
      })
      return tools
    },
    async call(tool, input, { signal, timeoutMs, progressed = () => undefined }) {
      // The caller's own limit ends the call first; the package's would otherwise be a minute.
      const timeout = timeoutMs + MARGIN_MS
      const onprogress = ({ progress, total, message: text }: Progress): void =>
        progressed({ progress, ...definedFields({ total, text }) })
      const options = { signal, timeout, resetTimeoutOnProgress: true, onprogress }
      const attempt = (client: Client) =>
        callSignal.run(signal, () => client.callTool({ name: tool, arguments: input }, options))
      const client = connect()
      try {
        return await attempt(await client)
      } catch (error) {
        if (error instanceof SdkHttpError) forget(client)
        if (!isForgotten(error) || signal.aborted) throw error
        return attempt(await connect())
      }
    },
  }
}

/**
 * Whether the server does not know our session any more, and so has not begun: the protocol asks to introduce ourselves again.
 * Its own reference server says so with 400 instead of 404.
 */
const isForgotten = (error: unknown): boolean =>
  error instanceof SdkHttpError && (error.status === 404 || (error.status === 400 && /session/i.test(error.message)))

/** All pages of a server's list, in time. Closes the connection of a server that fails at it. */
async function readList(
  client: Promise<Client>,
  { listMs = DEFAULT_LIST_MS }: ConnectionSettings,
): Promise<readonly Tool[]> {
  const signal = AbortSignal.timeout(listMs)
  const late = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error(`did not list its tools within ${listMs / 1_000} s`))),
  )
  const listed = client.then((one) => one.listTools(undefined, { signal, cacheMode: 'refresh' }))
  try {
    return (await Promise.race([listed, late])).tools
  } catch (error) {
    client.then((one) => one.close()).catch(() => undefined)
    throw error
  }
}

async function open(
  settings: ConnectionSettings,
  on: { readonly changed: () => void; readonly lost: () => void },
): Promise<Client> {
  const client = new Client(
    { name: 'tooltrail', version: settings.version },
    {
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MOST_PAGES,
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
  const fetch = async (address: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(address)
    const headers = new Headers(init.headers)
    if (url.origin === origin.origin)
      for (const [name, value] of Object.entries(await settings.headers())) headers.set(name, value)
    const { method = 'GET', body } = init
    const text = typeof body === 'string' ? body : undefined
    const asked = readRequest(text)
    const { signal, ...limits } = limitsOf(settings, method, asked.method)
    const signals = [init.signal, signal].filter((one) => one !== null && one !== undefined)
    const response = await guardedFetch(url, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      ...limits,
      allowedHosts: settings.allowedHosts,
      ...(settings.lookup && { lookup: settings.lookup }),
    })
    return method === 'POST' || response.ok ? boundedResponse(url.host, response, asked.id) : response
  }
  await client.connect(new StreamableHTTPClientTransport(origin, { fetch }), {
    timeout: settings.listMs ?? DEFAULT_LIST_MS,
  })
  return client
}

/** What the package sends: one of its requests, or a notice without an id. */
const readRequest = (body = '{}'): { readonly method?: unknown; readonly id?: unknown } =>
  JSON.parse(body) as { readonly method?: unknown; readonly id?: unknown }

function limitsOf(
  { longestMs }: ConnectionSettings,
  method: string,
  asked: unknown,
): { readonly limits: ResponseLimits; readonly isBackground: boolean; readonly signal?: AbortSignal | undefined } {
  if (method === 'GET' || asked === 'subscriptions/listen') return { limits: STANDING, isBackground: true }
  const limits = { bytes: RESULT_BYTES, milliseconds: MOST_TIMES * longestMs + 2 * MARGIN_MS }
  if (asked !== 'tools/call') return { limits: OTHER, isBackground: false }
  return { limits, isBackground: false, signal: callSignal.getStore() }
}
