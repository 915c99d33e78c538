import { SdkHttpError } from '@modelcontextprotocol/client'
import type { CallToolResult, Client, Progress, Tool } from '@modelcontextprotocol/client'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ToolContext } from '../../ports/tool.ts'
import { DEFAULT_LIST_MS, MARGIN_MS, openClient, withStreams } from './open-client.ts'
import type { ConnectionSettings } from './open-client.ts'
import { createRequestSlots } from './request-slots.ts'

/** Time for which a list of tools is cached, and time without a new attempt after a failed one. */
const FRESH_MS = 60_000
const AVOIDED_MS = 5_000
/**
 * Maximum number of open and waiting calls to one server in this process. The time in the queue counts as time of the
 * call.
 */
const CALLS = { maxOpen: 128, maxWaiting: 2_048 }
/** Limits of answers to the server's requests, and of notifications. Any beyond the limits are not sent. */
const ANSWERS = { maxOpen: 4, maxWaiting: 100 }

export interface CallOptions {
  /** Tenant of the call. Free slots are given to the tenants in turn. */
  readonly tenant: string
  readonly signal: AbortSignal
  /** Maximum time between two progress notifications. */
  readonly timeoutMs: number
  /** Called for each progress notification of the server. */
  readonly progressed?: ToolContext['progressed']
}

/** One MCP server, as seen by this process. The connection opens on first use, and again after it was lost. */
export interface McpConnection {
  /** Returns the server's tools. The list is cached for a minute, unless the server announces a change. */
  list(): Promise<readonly Tool[]>
  /**
   * Calls a tool. Rejects if the server cannot be reached or reports an error. Aborting the signal also cancels the
   * call at the server.
   */
  call(tool: string, input: JsonObject, options: CallOptions): Promise<CallToolResult>
}

interface Listing {
  readonly tools: Promise<readonly Tool[]>
  readonly until: number
}

/** Creates a connection to an MCP server over streamable HTTP, in any supported revision. */
export function createConnection(settings: ConnectionSettings): McpConnection {
  const { clock } = settings
  const { host } = new URL(settings.url)
  const calls = createRequestSlots(host, CALLS)
  const clients = createClients(settings, () => (listing = undefined))
  let listing: Listing | undefined
  let reading: Promise<unknown> | undefined
  let next: Promise<readonly Tool[]> | undefined

  const known = (): Listing['tools'] | undefined =>
    listing !== undefined && clock.now() < listing.until ? listing.tools : undefined

  function read(): Promise<readonly Tool[]> {
    const opened = clients.open()
    const tools = readList(opened, settings)
    const current = (listing = { tools, until: clock.now() + FRESH_MS })
    const ended = (): void => void (reading = undefined)
    reading = tools.then(ended, () => {
      ended()
      // After a failure, the next attempt uses a new connection, but not at once.
      clients.forget(opened)
      if (listing === current) listing = { tools, until: clock.now() + AVOIDED_MS }
    })
    return tools
  }

  return {
    list() {
      const tools = known()
      if (tools !== undefined) return tools
      if (reading === undefined) return read()
      // The cached list is outdated. All callers that wait share the next list.
      next ??= reading.then(() => {
        next = undefined
        return known() ?? read()
      })
      return next
    },
    call(tool, input, { tenant, signal, timeoutMs, progressed = () => undefined }) {
      // The caller's own timeout must expire first. The package's default would be one minute.
      const timeout = timeoutMs + MARGIN_MS
      const onprogress = ({ progress, total, message: text }: Progress): void =>
        progressed({ progress, ...definedFields({ total, text }) })
      const options = { signal, timeout, resetTimeoutOnProgress: true, onprogress }
      const attempt = (opened: Opened): Promise<CallToolResult> =>
        opened.use((client) => withStreams(signal, () => client.callTool({ name: tool, arguments: input }, options)))
      return calls.send(tenant, signal, async () => {
        const opened = clients.open()
        try {
          return await attempt(opened)
        } catch (error) {
          if (error instanceof SdkHttpError) clients.forget(opened)
          if (!isForgotten(error) || signal.aborted) throw error
          return attempt(clients.open())
        }
      })
    },
  }
}

/**
 * Whether the server has forgotten our session and therefore did not execute the request. The protocol then requires a
 * new initialization. The MCP reference server responds with 400 instead of 404.
 */
const isForgotten = (error: unknown): boolean =>
  error instanceof SdkHttpError && (error.status === 404 || (error.status === 400 && /session/i.test(error.message)))

/** An initialized client and its requests in flight. */
interface Opened {
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  /** Closes the client when its requests have ended. */
  retire(): void
}

/**
 * Manages the client of a connection. There is one current client. A previous one remains until its requests have
 * ended.
 */
function createClients(
  settings: ConnectionSettings,
  changed: () => void,
): { open(): Opened; forget(opened: Opened): void } {
  const answers = createRequestSlots(new URL(settings.url).host, ANSWERS)
  let current: Opened | undefined

  function forget(opened: Opened): void {
    if (current === opened) current = undefined
    opened.retire()
  }

  function connect(): Opened {
    const opening = openClient(settings, answers, { changed, lost: () => forget(opened) })
    const opened = createOpened(opening)
    opening.catch(() => forget(opened))
    return opened
  }

  return { open: () => (current ??= connect()), forget }
}

function createOpened(opening: Promise<Client>): Opened {
  let uses = 0
  let isRetired = false
  const closeUnused = (): void => {
    if (isRetired && uses === 0) opening.then((client) => client.close()).catch(() => undefined)
  }
  return {
    async use(work) {
      uses++
      try {
        return await work(await opening)
      } finally {
        uses--
        closeUnused()
      }
    },
    retire() {
      if (isRetired) return
      isRetired = true
      closeUnused()
    },
  }
}

/** Reads all pages of a server's tool list, within the timeout. */
async function readList(opened: Opened, { listMs = DEFAULT_LIST_MS }: ConnectionSettings): Promise<readonly Tool[]> {
  const signal = AbortSignal.timeout(listMs)
  const late = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error(`did not list its tools within ${listMs / 1_000} s`))),
  )
  const listed = opened.use((client) =>
    withStreams(signal, () => client.listTools(undefined, { signal, cacheMode: 'refresh' })),
  )
  return (await Promise.race([listed, late])).tools
}
