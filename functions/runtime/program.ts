import { createCallbacks } from '../channels/callbacks/by-hand.ts'
import type { AgentService } from '../agent/service/agent-service.ts'
import { serveHint } from '../agent/worker/serve-hint.ts'
import { startSweeper } from '../agent/worker/sweeper.ts'
import type { Channel } from '../delivery/channel.ts'
import { startDueDeliveries } from '../delivery/due-deliveries.ts'
import type { Agent } from '../domain/agent.ts'
import type { SessionKey } from '../domain/session.ts'
import { createApp } from '../http/app.ts'
import type { App, AppSettings } from '../http/dependencies.ts'
import { createSharedBytes } from '../http/streaming/response-bodies.ts'
import type { Clock } from '../ports/clock.ts'
import type { InboundEndpoint } from '../ports/inbound-endpoint.ts'
import type { HistoryIndex } from '../ports/history-index.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { LogImport } from '../ports/log-import.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { Logger } from '../ports/logger.ts'
import type { Models } from '../ports/model.ts'
import type { MessageFeedback } from '../ports/message-feedback.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { Received } from '../ports/received.ts'
import type { RunInbox } from '../ports/run-inbox.ts'
import type { RunLease } from '../ports/run-lease.ts'
import type { RunLog } from '../ports/run-log.ts'
import type { RunQueue } from '../ports/run-queue.ts'
import type { SessionDeletion } from '../ports/session-deletion.ts'
import type { SessionNames } from '../ports/session-names.ts'
import type { SessionJanitor } from '../ports/session-janitor.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { ToolRegistry, Tools } from '../ports/tool.ts'
import type { UsageLedger } from '../ports/usage-ledger.ts'
import { createImageSource } from '../tools/image-source.ts'
import { createCore } from './core.ts'
import { createFollowedWork } from './followed-work.ts'
import { openMcp } from './open-mcp.ts'

/** Maximum time for a deletion in the work of one hint, in milliseconds. The sweeper continues a longer deletion. */
const DELETION_MS = 60_000

/** All ports that a program needs, one adapter each. */
export interface Ports {
  readonly sessions: SessionStore
  readonly inbox: RunInbox
  readonly lease: RunLease
  readonly log: RunLog
  readonly imports: LogImport
  readonly reader: LogReader
  readonly janitor: SessionJanitor
  readonly deletion: SessionDeletion
  readonly outbox: Outbox
  readonly feedback: MessageFeedback
  readonly received: Received
  readonly names: SessionNames
  readonly keys: KeyStore
  readonly usage: UsageLedger
  readonly outputs: OutputStore
  readonly index: HistoryIndex
  readonly queue: RunQueue
  readonly models: Models
  readonly clock: Clock
  readonly logger: Logger
}

/** Ports with their connections and a function that rebuilds their history index. */
export interface OpenPorts extends Ports {
  /**
   * Rebuilds the history index from the log while the program runs. On one machine, `onProgress` receives the number of
   * messages processed so far.
   */
  rebuildHistory(
    onProgress?: (messages: number) => void,
  ): Promise<{ readonly messages: number; readonly removed: number }>
  close(): void | Promise<void>
}

export interface ProgramSettings {
  readonly agents: ReadonlyMap<string, Agent>
  readonly tools: Tools
  readonly remote?: (list: ToolRegistry) => ToolRegistry
  /** Destinations of deliveries, by their kind. */
  readonly channels?: ReadonlyMap<string, Channel>
  /** Names of the callbacks that requests may use. */
  readonly callbacks?: ReadonlySet<string>
  /** Internal or plain-HTTP hosts from which images may be loaded by address; none by default. */
  readonly allowedHosts?: readonly string[]
  /** Creates the channels' inbound endpoints over the service that gets their inputs. */
  readonly endpoints?: (service: AgentService) => readonly InboundEndpoint[]
  readonly app: AppSettings
  /** Milliseconds between two sweeps. */
  readonly sweepMs: number
  /** Whether the program executes only runs of sessions that requests follow, and does not sweep. */
  readonly onlyFollowed?: boolean
}

export interface Program {
  readonly app: App
  readonly service: AgentService
  /**
   * Starts executing runs, including those that other processes accepted, and starts sweeping. With `onlyFollowed`,
   * executes only followed runs.
   */
  start(): void
  /**
   * Ends streams and waiting requests, hands off runs between two rounds, and stops sweeping. Call it after `start`.
   * The ports stay open.
   */
  stop(): Promise<void>
  /** Stops faster: aborts completions in flight. The next holder sends their requests to the model again. */
  cutOff(): void
  /** Whether clients have left many bytes unread. If so, clients that do not read are disconnected sooner. */
  isCrowded(): boolean
}

/** Creates the whole program in one process, on any ports: API, loop, queue consumer and sweeper. */
export function createProgram(ports: Ports, settings: ProgramSettings): Program {
  const { agents, app: appSettings, sweepMs } = settings
  const { service, worker, deliveries } = createCore(ports, settings)
  const followed = settings.onlyFollowed === true ? createFollowedWork(service, ports.clock, sweepMs) : undefined
  const stopping = new AbortController()
  const shared = createSharedBytes()
  const app = createApp({
    ...ports,
    service: followed?.service ?? service,
    agents,
    log: ports.logger,
    shared,
    settings: appSettings,
    mcp: openMcp({ ...ports, service, log: ports.logger, version: appSettings.version }),
    callbacks: createCallbacks({ ...ports, names: settings.callbacks ?? new Set() }),
    images: createImageSource({ allowedHosts: settings.allowedHosts ?? [] }),
    ...(settings.endpoints === undefined ? {} : { endpoints: settings.endpoints(service) }),
    stopping: () => stopping.signal,
  })
  const serve = async (hint: SessionKey): Promise<void> => {
    try {
      await deliveries.serve(hint)
      await serveHint({ ...ports, worker }, hint, ports.clock.now() + DELETION_MS)
    } catch (error) {
      ports.logger.error('serving a session failed', error, { tenant: hint.tenant, session: hint.session })
      throw error
    }
  }
  /** Serves deliveries separately from runs, because a run may last for hours. */
  const deliver = (key: SessionKey): Promise<void> =>
    deliveries.serve(key).catch((error: unknown) => {
      // A later sweep finds the deliveries that were not sent.
      ports.logger.error('delivering failed', error, { tenant: key.tenant, session: key.session })
    })
  let consumer: ReturnType<typeof ports.queue.consume> | undefined
  let sweeper: ReturnType<typeof startSweeper> | undefined
  let due: ReturnType<typeof startDueDeliveries> | undefined
  return {
    app,
    service,
    start() {
      consumer = (followed ?? ports.queue).consume(serve, (hint) => void deliver(hint))
      if (followed !== undefined) return
      sweeper = startSweeper(ports, sweepMs)
      due = startDueDeliveries({ ...ports, queue: { send: deliver }, isLeft: deliveries.isLeft }, sweepMs)
    },
    async stop() {
      stopping.abort()
      await Promise.all([sweeper?.stop(), due?.stop(), worker.stop()])
      await consumer?.stop()
      await deliveries.handOff()
    },
    cutOff: () => worker.cutOff('shutting_down'),
    isCrowded: shared.isCrowded,
  }
}
