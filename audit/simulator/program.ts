import type { Context } from 'aws-lambda'
// This module is imported here, before the simulation, because a late import would take real time.
import '../../functions/agent/events/until-settled.ts'
import type { AgentService, CallResolution } from '../../functions/agent/service/agent-service.ts'
import { serveHint } from '../../functions/agent/worker/serve-hint.ts'
import type { SessionWorker } from '../../functions/agent/worker/session-worker.ts'
import type { Channel } from '../../functions/delivery/channel.ts'
import type { DriverDependencies } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries, startDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import { startSweeper, sweep } from '../../functions/agent/worker/sweeper.ts'
import type { Agent, Policies } from '../../functions/domain/agent.ts'
import { DEFAULT_POLICIES } from '../../functions/domain/agent.ts'
import type { RunEvent } from '../../functions/domain/events.ts'
import type { Feedback } from '../../functions/domain/messages/feedback.ts'
import { TooltrailError } from '../../functions/domain/errors.ts'
import type { Session, SessionKey } from '../../functions/domain/session.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import type { Logger } from '../../functions/ports/logger.ts'
import type { Models } from '../../functions/ports/model.ts'
import type { OutputStore } from '../../functions/ports/output-store.ts'
import type { Hint, RunQueue } from '../../functions/ports/run-queue.ts'
import type { Tools } from '../../functions/ports/tool.ts'
import { createCore } from '../../functions/runtime/core.ts'
import { invoke } from '../../functions/runtime/lambda/invocation.ts'
import type { SessionPorts } from '../../test/contracts/stores.ts'

// Only this module composes the parts of functions/agent. The rest of the simulator uses their interfaces.

const SWEEP_MS = 5_000
const DELETION_MS = 60_000
/** A function hands off its runs this many milliseconds before its time limit. */
const STOP_MARGIN_MS = 30_000

export interface ProgramPorts extends SessionPorts {
  readonly outputs: OutputStore
  readonly index: HistoryIndex
  readonly queue: RunQueue
  readonly models: Models
  readonly clock: Clock
  readonly logger: Logger
}

/** The program of one process, without HTTP. */
export interface Program {
  readonly service: AgentService
  readonly worker: SessionWorker
  /** Reads the session, as the HTTP API does for each request. */
  session(key: SessionKey): Promise<Session>
  /** Copies a log, up to and including this message, into the session `name`. Continues an earlier, incomplete copy. */
  fork(from: SessionKey, through: string, name: string): Promise<number>
  /** Stores a rating of a message. Returns false if the message cannot be rated. */
  rate(key: SessionKey, messageId: string, feedback: Feedback): Promise<boolean>
  start(): void
  /** Executes one invocation of a function, which times out after `milliseconds`. Waits for all work that it starts. */
  invoke(hops: number, milliseconds: number, work: () => Promise<unknown>): Promise<void>
  serve(hint: Hint): Promise<void>
  /** Executes one sweep, which takes at most `milliseconds`. */
  sweep(milliseconds: number): Promise<void>
  /** Hands off the runs and ends the program, as on SIGTERM. */
  stop(): Promise<void>
}

export function createProgram(
  ports: ProgramPorts,
  tools: Tools,
  {
    observe,
    consolidation = DEFAULT_POLICIES.consolidation,
    channels,
    hintLater,
  }: {
    readonly observe: (key: SessionKey, event: RunEvent) => void
    readonly consolidation?: Policies['consolidation'] | undefined
    /** If absent, runs have no deliveries. */
    readonly channels?: ReadonlyMap<string, Channel> | undefined
    readonly hintLater?: DriverDependencies['hintLater']
  },
): Program {
  const agent: Agent = {
    name: 'default',
    model: 'script/ed',
    modelOptions: {},
    tools: [...tools.keys()],
    policies: { ...DEFAULT_POLICIES, maxRounds: 6, consolidation },
  }
  const names = ['default', 'lead', 'hand', 'finger']
  const team = names.map((name, depth): Agent => ({ ...agent, name, members: names.slice(depth + 1, depth + 2) }))
  const agents = new Map(team.map((one) => [one.name, one]))
  const { service, worker, deliveries } = createCore(ports, {
    agents,
    tools,
    observe,
    ...(channels === undefined ? {} : { channels, deliver: hintLater === undefined ? {} : { hintLater } }),
  })
  const serve = async (hint: Hint): Promise<void> => {
    if (channels !== undefined) await deliveries.serve(hint)
    await serveHint({ ...ports, worker }, hint, ports.clock.now() + DELETION_MS)
  }
  let consumer: ReturnType<RunQueue['consume']> | undefined
  let sweeper: ReturnType<typeof startSweeper> | undefined
  let due: ReturnType<typeof startDueDeliveries> | undefined
  return {
    service,
    worker,
    async session(key) {
      const session = await ports.sessions.read(key)
      if (session === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      return session
    },
    async fork(from, through, name) {
      const to = { tenant: from.tenant, session: name }
      const forkedFrom = { session: from.session, messageId: through }
      const made = await ports.sessions
        .create({ ...to, agent: 'default', metadata: {}, forkedFrom })
        .catch((error: unknown) => {
          if (error instanceof TooltrailError && error.code === 'session_exists') return ports.sessions.read(to)
          throw error
        })
      if (made === undefined) throw new TooltrailError('session_not_found', `there is no session ${name}`)
      return service.copyLog(from, through, made)
    },
    rate: (key, messageId, feedback) => ports.feedback.give(key, messageId, feedback),
    async invoke(hops, milliseconds, work) {
      const end = ports.clock.now() + milliseconds
      const context = { getRemainingTimeInMillis: () => end - ports.clock.now() } as Context
      const logger = { ...ports.logger, begin: () => undefined, identify: () => undefined }
      const metrics = { flush: () => undefined }
      const traces = Promise.resolve({ flush: async () => undefined })
      const checkSecrets = async (): Promise<void> => undefined
      const loop = { ports, worker, deliveries, logger, metrics, traces, checkSecrets, stopMarginMs: STOP_MARGIN_MS }
      await invoke(loop, context, hops, work)
    },
    serve,
    async sweep(milliseconds) {
      const begun = ports.clock.now()
      if (channels !== undefined) await hintDueDeliveries(ports, begun + milliseconds / 2)
      await sweep(ports, begun + milliseconds)
    },
    start() {
      consumer = ports.queue.consume(serve)
      sweeper = startSweeper(ports, SWEEP_MS)
      if (channels !== undefined) due = startDueDeliveries(ports, SWEEP_MS)
    },
    async stop() {
      await Promise.all([sweeper?.stop(), due?.stop(), worker.stop()])
      await consumer?.stop()
      await deliveries.handOff()
    },
  }
}

/** A waiting call as a person sees it. */
export interface WaitingCall {
  readonly messageId: string
  readonly toolCallId: string
  readonly needs: 'result' | 'approval'
  /** Token that the model put into the arguments. */
  readonly token: string
}

/**
 * Builds the decision that a client sends for a call. If `byId` is set, the decision names the call only by its id.
 * Otherwise it also names the message of the call.
 */
export function decisionOn(
  { toolCallId, messageId, token, needs }: WaitingCall,
  allow: boolean,
  byId: boolean,
): CallResolution {
  const named = byId ? { toolCallId } : { toolCallId, messageId }
  if (needs === 'approval') return { ...named, approve: allow, by: token }
  return allow ? { ...named, output: [{ type: 'text', text: `result of ${token}` }] } : { ...named, error: token }
}
