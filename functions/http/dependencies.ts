import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Agent } from '../domain/agent.ts'
import type { Caller } from '../access/caller.ts'
import type { OpenCalls } from '../access/open-calls.ts'
import type { AgentService } from '../agent/intake/agent-service.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { SessionDeletion } from '../ports/session-deletion.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { SharedBytes } from './long-bodies.ts'

export interface AppSettings {
  readonly version: string
  /**
   * As long as no key was ever made, requests without one act for the tenant `default`. Every request must then name a
   * loopback host and, if any, its own origin.
   */
  readonly openAccess: boolean
  /** Origins whose pages may call the API from a browser, `*` for all (with a key); empty: none but its own. */
  readonly corsOrigins: readonly string[]
  /** Folder of the style and the script of `/docs`; left out: where they stand in the source. */
  readonly docsFolder?: string
}

/** What the HTTP API stands on; composed in `runtime/`. */
export interface AppDependencies {
  readonly service: AgentService
  readonly sessions: SessionStore
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly deletion: SessionDeletion
  readonly keys: KeyStore
  readonly agents: ReadonlyMap<string, Agent>
  readonly clock: Clock
  readonly log: Logger
  readonly settings: AppSettings
  /** Asked by each request. Aborts when the process is about to stop: streams and waits end, and inputs are refused with 503. */
  readonly stopping: () => AbortSignal
}

/** What the routes share beside that. */
export interface RouteDependencies extends AppDependencies {
  readonly calls: OpenCalls
  readonly shared: SharedBytes
}

export interface AppEnv {
  /** `base`: what stands before the paths in the address that the caller used. */
  Bindings?: { readonly base?: string }
  Variables: {
    requestId: string
    /** No key was made yet, and none is asked for. */
    open: boolean
    caller: Caller
    /** As it came in: its signal tells when the client has left. */
    request: Request
  }
}

export type App = OpenAPIHono<AppEnv>
