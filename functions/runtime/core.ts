import type { AgentService } from '../agent/service/agent-service.ts'
import { createAgentService } from '../agent/service/create-agent-service.ts'
import type { AgentServiceDependencies } from '../agent/service/create-agent-service.ts'
import { createEventBus } from '../agent/events/event-bus.ts'
import type { Channel } from '../delivery/channel.ts'
import { createDeliveryDriver } from '../delivery/driver.ts'
import type { DeliveryDriver, DriverDependencies } from '../delivery/driver.ts'
import { createHistorySearch } from '../history/search.ts'
import { createSessionWorker } from '../agent/worker/session-worker.ts'
import type { SessionWorker } from '../agent/worker/session-worker.ts'
import type { Agent } from '../domain/agent.ts'
import type { RunEvent } from '../domain/events.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { SessionJanitor } from '../ports/session-janitor.ts'
import type { ToolRegistry, Tools } from '../ports/tool.ts'
import { createToolList } from '../tools/tool-list.ts'
import { showErrorsByKind } from './settings/model-errors.ts'
import { traceModels, traceTools } from './tracing/tracing.ts'

type CorePorts = Omit<AgentServiceDependencies, 'agents' | 'tools' | 'search' | 'emit' | 'worker' | 'bus'> & {
  readonly janitor: SessionJanitor
  readonly outbox: Outbox
}

export interface CoreSettings {
  readonly agents: ReadonlyMap<string, Agent>
  readonly tools: Tools
  /** Returns a registry that also has the tools of agents' remote servers. */
  readonly remote?: (list: ToolRegistry) => ToolRegistry
  /** Destinations of deliveries, by their kind. If absent, no run has deliveries. */
  readonly channels?: ReadonlyMap<string, Channel>
  /** Receives every event of the runs that this process executes. */
  readonly observe?: (key: SessionKey, event: RunEvent) => void
  /** See `DriverDependencies`. */
  readonly deliver?: Pick<DriverDependencies, 'hintLater' | 'noteFailure'>
}

export interface Core {
  readonly service: AgentService
  readonly worker: SessionWorker
  readonly deliveries: DeliveryDriver
}

/** Creates the parts of a process that accept and execute runs, without servers and timers. */
export function createCore(
  ports: CorePorts,
  { agents, tools, remote, channels = new Map(), observe, deliver }: CoreSettings,
): Core {
  const bus = createEventBus()
  const history = createHistorySearch(ports)
  const emit = (key: SessionKey, event: RunEvent): void => {
    observe?.(key, event)
    bus.emit(key, event)
    deliveries.observe(key, event)
  }
  const models = traceModels(showErrorsByKind(ports.models, ports.logger))
  const list = createToolList(tools)
  const registry = traceTools(remote?.(list) ?? list)
  const loop = { ...ports, agents, models, tools: registry, search: history.search, emit }
  const worker = createSessionWorker(loop)
  const service = createAgentService({ ...loop, worker, bus })
  const deliveries = createDeliveryDriver({ ...ports, ...deliver, channels, follow: service.follow })
  return { worker, service, deliveries }
}
