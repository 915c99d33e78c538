import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Agent } from '../domain/agent.ts'
import type { Caps } from '../access/rates.ts'
import type { Caller } from '../access/caller.ts'
import type { OpenRequests } from '../access/open-requests.ts'
import type { AgentService } from '../agent/service/agent-service.ts'
import type { Callbacks } from '../ports/callbacks.ts'
import type { Clock } from '../ports/clock.ts'
import type { ImageSource } from '../ports/image-source.ts'
import type { InboundEndpoint } from '../ports/inbound-endpoint.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { SessionNames } from '../ports/session-names.ts'
import type { UsageLedger } from '../ports/usage-ledger.ts'
import type { ByteBudget } from './middleware/byte-budget.ts'
import type { Builds } from './streaming/document-queue.ts'
import type { SharedBytes } from './streaming/response-bodies.ts'

export interface AppSettings {
  readonly version: string
  /**
   * Whether requests without a key act for the tenant `default` until a key has been created. Such a request must name
   * a loopback host. Its `Origin`, if present, must be the server's own or an allowed one.
   */
  readonly openAccess: boolean
  /**
   * Origins whose pages may call the API from a browser. `*` allows all origins, but only for requests with a key. If
   * empty, only the server's own origin is allowed.
   */
  readonly corsOrigins: readonly string[]
  /** Aliases that facades accept as names of agents: the agent's name by alias. None by default. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Limits on keys and tenants. */
  readonly caps: Caps
  /** Folder of the style and the script of `/docs`; by default their folder in the source. */
  readonly docsFolder?: string
  /** Folder of the built page; by default the output folder of `npm run build`. */
  readonly pageFolder?: string
}

/** The dependencies of the HTTP API, composed in `runtime/`. */
export interface AppDependencies {
  readonly service: AgentService
  readonly sessions: SessionStore
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly keys: KeyStore
  readonly names: SessionNames
  readonly usage: UsageLedger
  readonly callbacks: Callbacks
  readonly images: ImageSource
  readonly agents: ReadonlyMap<string, Agent>
  readonly clock: Clock
  readonly log: Logger
  readonly shared: SharedBytes
  readonly settings: AppSettings
  /** Serves one request of the Model Context Protocol. The caller must have the scope `read`. */
  readonly mcp: (
    request: Request,
    visit: { readonly caller: Caller; readonly calls: OpenRequests },
  ) => Promise<Response>
  /** Inbound endpoints that authenticate their own requests; none by default. */
  readonly endpoints?: readonly InboundEndpoint[]
  /**
   * Returns the signal that aborts when the process is about to stop. Streams and waits then end, and inputs are
   * rejected with 503. Called at each request.
   */
  readonly stopping: () => AbortSignal
}

/** The dependencies of routes, including state that all routes share. */
export interface RouteDependencies extends AppDependencies {
  readonly calls: OpenRequests
  /** Builds long documents for requests: pages, and runs with their messages. */
  readonly builds: Builds
  /** Limits the memory of images that are fetched. */
  readonly imageBudget: ByteBudget
}

export interface AppEnv {
  Bindings?: {
    /** The path prefix in the address that the caller used, before the API's own paths. */
    readonly base?: string
    /** On a local server: the stream that the response is written to. */
    readonly outgoing?: { destroy(): void }
    readonly incoming?: { readonly socket: { readonly remoteAddress?: string | undefined } }
  }
  Variables: {
    requestId: string
    /** Whether requests need no key, because none has been created yet. */
    open: boolean
    caller: Caller
    /** The original request: its signal aborts when the client disconnects. */
    request: Request
  }
}

export type App = OpenAPIHono<AppEnv>
