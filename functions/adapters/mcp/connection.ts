import { SdkHttpError } from '@modelcontextprotocol/client'
import type { Client, Progress } from '@modelcontextprotocol/client'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { ToolContext } from '../../ports/tool.ts'
import { sessionLoss } from './forgotten-session.ts'
import type { SessionLoss } from './forgotten-session.ts'
import { DEFAULT_LIST_MS, MARGIN_MS, openClient, withStreams } from './open-client.ts'
import type { ConnectionSettings } from './open-client.ts'
import { createRequestSlots } from './request-slots.ts'

/** Time for which a list of tools is cached, and the minimum wait after a failed attempt to read it. */
const FRESH_MS = 60_000
const AVOIDED_MS = 5_000
/**
 * Maximum number of open and waiting calls to one server in this process. The time in the queue counts toward the
 * call's timeout.
 */
const CALLS = { maxOpen: 128, maxWaiting: 2_048 }
/**
 * Limits of messages that expect no result: answers to the server's requests, and notifications. Messages beyond these
 * limits are not sent.
 */
const ANSWERS = { maxOpen: 4, maxWaiting: 100 }

export interface CallOptions {
  /** Tenant of the call. Free slots are given to the tenants in turn. */
  readonly tenant: string
  readonly signal: AbortSignal
  /** Maximum time until the result or the next progress notification. */
  readonly timeoutMs: number
  /**
   * Whether the call may be repeated if the server has lost the session and may have executed the call. If it is repeated,
   * the tool may run twice.
   */
  readonly repeatable?: boolean
  /** Called for each progress notification of the server. */
  readonly progressed?: ToolContext['progressed']
}

/** The tools of a server, each as the server sent it. */
export interface ListedTools {
  readonly tools: readonly Json[]
  /** Names of tools that are dropped, because the protocol does not allow the headers that they declare. */
  readonly refused: readonly string[]
}

/** One MCP server, as seen by this process. The connection opens on first use, and again after it was lost. */
export interface McpConnection {
  /** Returns the server's tools. The list is cached for a minute, unless the server announces a change. */
  list(): Promise<ListedTools>
  /**
   * Calls a tool, and returns its result as the server sent it. Rejects if the server cannot be reached or reports an
   * error. Aborting the signal also cancels the call at the server.
   */
  call(tool: string, input: JsonObject, options: CallOptions): Promise<unknown>
}

interface Listing {
  readonly tools: Promise<ListedTools>
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
  let next: Promise<ListedTools> | undefined

  const known = (): Listing['tools'] | undefined =>
    listing !== undefined && clock.now() < listing.until ? listing.tools : undefined

  function read(): Promise<ListedTools> {
    let opened = clients.open()
    const again = (): Opened => {
      clients.forget(opened)
      return (opened = clients.open())
    }
    const tools = readList(opened, again, settings)
    const current = (listing = { tools, until: clock.now() + FRESH_MS })
    const ended = (): void => void (reading = undefined)
    reading = tools.then(ended, () => {
      ended()
      // After a failure, the next attempt uses a new client. It begins after `AVOIDED_MS` at the earliest.
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
      // The list that is being read is already outdated. All callers that arrive now share the next list, which is read
      // afterwards.
      next ??= reading.then(() => {
        next = undefined
        return known() ?? read()
      })
      return next
    },
    call: (tool, input, options) =>
      calls.send(options.tenant, options.signal, async () => {
        const opened = clients.open()
        try {
          return await attemptCall(opened, tool, input, options)
        } catch (error) {
          const loss = opened.lossIn(error)
          if (error instanceof SdkHttpError || loss !== 'none') clients.forget(opened)
          const isSafe = loss === 'refused' || (loss === 'unclear' && options.repeatable === true)
          if (options.signal.aborted || !isSafe) throw error
          return attemptCall(clients.open(), tool, input, options)
        }
      }),
  }
}

/** Sends the call once, and returns its result as the server sent it. */
function attemptCall(
  opened: Opened,
  tool: string,
  input: JsonObject,
  { signal, timeoutMs, progressed = () => undefined }: CallOptions,
): Promise<unknown> {
  const onprogress = ({ progress, total, message: text }: Progress): void =>
    progressed({ progress, ...definedFields({ total, text }) })
  // The caller's own timeout must expire first. The package's default would be one minute.
  const limits = { signal, timeout: timeoutMs + MARGIN_MS, resetTimeoutOnProgress: true, onprogress }
  return opened.use((client) =>
    withStreams(signal, async (received) => {
      const checked = await client.callTool({ name: tool, arguments: input }, limits)
      return 'call' in received ? received.call : checked
    }),
  )
}

/** An initialized client and its requests in flight. */
interface Opened {
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  /** Returns whether a request's error shows that the server has lost the session. */
  lossIn(error: unknown): SessionLoss
  /** Closes the client as soon as no request is in flight. */
  retire(): void
}

/**
 * Manages the clients of a connection. One of them is current. A previous client remains open until its requests have
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
  let client: Client | undefined
  let isRetired = false
  const closeUnused = (): void => {
    if (isRetired && uses === 0) opening.then((client) => client.close()).catch(() => undefined)
  }
  return {
    async use(work) {
      uses++
      try {
        client = await opening
        return await work(client)
      } finally {
        uses--
        closeUnused()
      }
    },
    // Without an initialized client, there was no session that the server could lose.
    lossIn: (error) => (client === undefined ? 'none' : sessionLoss(error, client.transport?.sessionId)),
    retire() {
      if (isRetired) return
      isRetired = true
      closeUnused()
    },
  }
}

/**
 * Reads all pages of a server's tool list, within the timeout. If the server has lost the session, reads the list once
 * more with the client that `again` returns.
 */
async function readList(
  opened: Opened,
  again: () => Opened,
  { listMs = DEFAULT_LIST_MS }: ConnectionSettings,
): Promise<ListedTools> {
  const signal = AbortSignal.timeout(listMs)
  const late = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error(`did not list its tools within ${listMs / 1_000} s`))),
  )
  const listed = readPages(opened, signal).catch((error: unknown) => {
    if (signal.aborted || opened.lossIn(error) === 'none') throw error
    return readPages(again(), signal)
  })
  return await Promise.race([listed, late])
}

const readPages = (opened: Opened, signal: AbortSignal): Promise<ListedTools> =>
  opened.use((client) =>
    withStreams(signal, async ({ pages }) => {
      const { tools: allowed } = await client.listTools(undefined, { signal, cacheMode: 'refresh' })
      const tools = pages.flatMap((page) => ((page as JsonObject)['tools'] ?? []) as readonly Json[])
      const names = new Set(allowed.map(({ name }) => name))
      const refused = tools.map(nameOf).filter((name) => name !== undefined && !names.has(name))
      return { tools, refused: refused as readonly string[] }
    }),
  )

/** Returns the name of a listed tool; undefined if it has none. */
export function nameOf(tool: Json): string | undefined {
  const name =
    typeof tool === 'object' && tool !== null && !Array.isArray(tool) ? (tool as JsonObject)['name'] : undefined
  return typeof name === 'string' ? name : undefined
}
