import { SdkHttpError } from '@modelcontextprotocol/client'
import type { CallToolResult, Client, Progress, Tool } from '@modelcontextprotocol/client'
import { definedFields } from '../../domain/defined-fields.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { ToolContext } from '../../ports/tool.ts'
import { DEFAULT_LIST_MS, MARGIN_MS, openClient, withStreams } from './open-client.ts'
import type { ConnectionSettings } from './open-client.ts'
import { createRequestPlaces } from './request-places.ts'

/** How long a list that was read counts, and how long a server that could not list is left alone, in milliseconds. */
const FRESH_MS = 60_000
const AVOIDED_MS = 5_000
/** Calls of one server that are open at a time in this process; others wait in their own time. */
const CALLS = { maxOpen: 128, maxWaiting: 2_048 }
/** The same for answers to requests of the server, and for notices. Those beyond are not sent. */
const ANSWERS = { maxOpen: 4, maxWaiting: 100 }

export interface CallOptions {
  /** Tenants take turns for the places of open calls. */
  readonly tenant: string
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
  const { host } = new URL(settings.url)
  const calls = createRequestPlaces(host, CALLS)
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
      // A server that stands still is connected to anew, but not at once.
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
      // A change was announced meanwhile: all who ask now share the next list.
      next ??= reading.then(() => {
        next = undefined
        return known() ?? read()
      })
      return next
    },
    call(tool, input, { tenant, signal, timeoutMs, progressed = () => undefined }) {
      // The caller's own limit ends the call first; the package's would otherwise be a minute.
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
 * Whether the server does not know our session any more, and so has not begun: the protocol asks to introduce ourselves again.
 * Its own reference server says so with 400 instead of 404.
 */
const isForgotten = (error: unknown): boolean =>
  error instanceof SdkHttpError && (error.status === 404 || (error.status === 400 && /session/i.test(error.message)))

/** A client, once it has introduced itself, and the requests that it has under way. */
interface Opened {
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  /** Closes it when its requests have ended. */
  retire(): void
}

/** The client of a connection: there is one at a time, beside those that still have requests under way. */
function createClients(
  settings: ConnectionSettings,
  changed: () => void,
): { open(): Opened; forget(opened: Opened): void } {
  const answers = createRequestPlaces(new URL(settings.url).host, ANSWERS)
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

/** All pages of a server's list, in time. */
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
