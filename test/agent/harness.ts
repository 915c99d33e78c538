import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { createAgentService } from '../../functions/agent/service/create-agent-service.ts'
import type { AgentService, Submission } from '../../functions/agent/service/agent-service.ts'
import { createEventBus } from '../../functions/agent/events/event-bus.ts'
import { createSessionWorker } from '../../functions/agent/worker/session-worker.ts'
import type { SessionWorker } from '../../functions/agent/worker/session-worker.ts'
import { createHistorySearch } from '../../functions/history/search.ts'
import { DEFAULT_POLICIES } from '../../functions/domain/agent.ts'
import type { Agent } from '../../functions/domain/agent.ts'
import type { RunEvent } from '../../functions/domain/events.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import type { RequestSettings } from '../../functions/domain/runs/request-settings.ts'
import type { ClientTool, OnBusy, Run } from '../../functions/domain/runs/run.ts'
import type { Session, SessionKey } from '../../functions/domain/session.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import type { Clock } from '../../functions/ports/clock.ts'
import type { Completion, ModelEvent } from '../../functions/ports/model.ts'
import type { Tool, ToolRegistry } from '../../functions/ports/tool.ts'
import { createToolList } from '../../functions/tools/tool-list.ts'
import { openLocalPorts } from '../../functions/runtime/local/ports.ts'
import type { Ports } from '../../functions/runtime/program.ts'
import { HANG_TIMEOUT_MS } from '../eventually.ts'
import { requireNoImages, storedRows } from '../fixtures/stored-rows.ts'

/** One completion of a script: text and calls, or a function that streams the events. */
export type Turn =
  | {
      readonly text?: string
      readonly calls?: readonly { id?: string; name: string; arguments?: string }[]
      /** Reported tokens in total. Default: 10. Null: the provider reports no total. */
      readonly tokens?: number | null
      /** Tokens of the request. If absent, the provider does not report them. */
      readonly inputTokens?: number
    }
  | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>)

/** A member of the default agent's team, or of another member's team. */
export interface TeamMember {
  readonly script: readonly Turn[]
  readonly members?: readonly string[]
  readonly tools?: readonly string[]
  readonly policies?: Partial<Agent['policies']>
  readonly instructions?: string
}

export interface Harness {
  readonly ports: Ports
  readonly service: AgentService
  readonly worker: SessionWorker
  /** Path of the folder in which the stores keep rows and outputs. */
  readonly folder: string
  readonly key: SessionKey
  /** The session in its initial state. */
  readonly session: Session
  /** Every request sent to the model. */
  readonly requests: ModelRequest[]
  /** Every event that was emitted. */
  readonly events: RunEvent[]
  submit(
    content: string | Submission['parts'],
    options?: { clientTools?: readonly ClientTool[]; onBusy?: OnBusy; settings?: RequestSettings },
  ): Promise<string>
  /** Waits until the stream of the run's events ends. Resolves with the run that the last event contains. */
  settled(runId: string): Promise<Run>
  log(): Promise<readonly Message[]>
  /** Opens a second process, with its own worker and bus, on the same stores. */
  another(script: readonly Turn[], team?: Team): Omit<Harness, 'another' | 'rebuildHistory' | 'close'>
  rebuildHistory: ReturnType<typeof openLocalPorts>['rebuildHistory']
  close(): Promise<void>
}

/** Team members by name. A member works for the default agent unless another member lists its name. */
type Team = { readonly [name: string]: TeamMember }

/** Opens the loop on real SQLite and disk, with a scripted model and the given tools. */
export async function openHarness(options: {
  readonly script: readonly Turn[]
  readonly team?: Team
  readonly tools?: readonly Tool[]
  /** Names of the tools that the agent lists. Default: all. */
  readonly listed?: readonly string[]
  readonly mcp?: Agent['mcp']
  readonly policies?: Partial<Agent['policies']>
  readonly modelOptions?: Agent['modelOptions']
  readonly registry?: (tools: ToolRegistry, outputs: Ports['outputs']) => ToolRegistry
  readonly change?: (ports: Ports) => Ports
  readonly clock?: Clock
}): Promise<Harness> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-loop-'))
  const opened = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} }, options.clock)
  const key = { tenant: 'default', session: 's1' }
  const session = await opened.sessions.create({ ...key, agent: 'default', metadata: {} })
  const workers: SessionWorker[] = []

  function open(script: readonly Turn[], team: Team = {}): Omit<Harness, 'another' | 'rebuildHistory' | 'close'> {
    const requests: ModelRequest[] = []
    const events: RunEvent[] = []
    const ports = (options.change ?? ((same: Ports) => same))({
      ...opened,
      models: scripted({ ...scriptsOf(team), 'script/ed': script }, requests),
    })
    const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]))
    const agent: Agent = {
      name: 'default',
      model: 'script/ed',
      modelOptions: options.modelOptions ?? {},
      instructions: 'Be brief.',
      tools: options.listed ?? [...tools.keys()],
      ...definedFields({ mcp: options.mcp }),
      policies: { ...DEFAULT_POLICIES, ...options.policies },
      members: leadersMembers(team),
    }
    const members = Object.entries(team).map(([name, one]): Agent => ({
      name,
      model: `script/${name}`,
      modelOptions: {},
      tools: agent.tools,
      ...one,
      policies: { ...DEFAULT_POLICIES, ...one.policies },
    }))
    const bus = createEventBus()
    const loop = {
      ...ports,
      agents: new Map([agent, ...members].map((one) => [one.name, one])),
      tools: (options.registry ?? ((same: ToolRegistry) => same))(createToolList(tools), ports.outputs),
      search: createHistorySearch(ports).search,
      emit: (at: typeof key, event: RunEvent) => {
        events.push(event)
        bus.emit(at, event)
      },
    }
    const worker = createSessionWorker(loop)
    workers.push(worker)
    const service = createAgentService({ ...loop, worker, bus })
    return {
      folder,
      ports,
      service,
      worker,
      key,
      session,
      requests,
      events,
      async submit(content, { clientTools = [], onBusy, settings } = {}) {
        const parts = typeof content === 'string' ? ([{ type: 'text', text: content }] as const) : content
        const submission = { parts, clientTools, ...definedFields({ onBusy, settings }) }
        return (await service.submit(session, submission, { here: true })).runId
      },
      async settled(runId) {
        let last: Run | undefined
        for await (const event of service.follow(key, runId, { signal: AbortSignal.timeout(HANG_TIMEOUT_MS) }))
          if ('run' in event) last = event.run
        if (last === undefined) throw new Error(`run ${runId} did not settle`)
        return last
      },
      log: async () => (await ports.reader.messages(key, { order: 'ascending', limit: 1_000 })).messages,
    }
  }

  return {
    ...open(options.script, options.team),
    another: open,
    rebuildHistory: opened.rebuildHistory,
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await opened.close()
      requireNoImages(storedRows(folder))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function leadersMembers(team: Team): string[] {
  const others = new Set(Object.values(team).flatMap(({ members = [] }) => members))
  return Object.keys(team).filter((name) => !others.has(name))
}

const scriptsOf = (team: Team): { readonly [model: string]: readonly Turn[] } =>
  Object.fromEntries(Object.entries(team).map(([name, { script }]) => [`script/${name}`, script]))

function scripted(scripts: { readonly [model: string]: readonly Turn[] }, requests: ModelRequest[]): Ports['models'] {
  const places = new Map<string, number>()
  return {
    open: async (name) => ({
      name,
      async *stream(request, signal) {
        requests.push(request)
        const at = places.get(name) ?? 0
        places.set(name, at + 1)
        const turn = scripts[name]?.[at]
        if (turn === undefined) throw new Error('the script has no further turn')
        if (typeof turn === 'function') {
          yield* turn(request, signal)
          return
        }
        if (turn.text !== undefined) yield { type: 'text.delta', part: 0, text: turn.text }
        yield { type: 'completion', completion: completionOf(turn) }
      },
    }),
  }
}

/** Builds a completion from an entry of the script. */
export function completionOf(turn: Exclude<Turn, (...args: never[]) => unknown>): Completion {
  const toolCalls = (turn.calls ?? []).map((call, index) => ({
    id: call.id ?? `call-${index}`,
    name: call.name,
    arguments: call.arguments ?? '{}',
  }))
  return {
    parts: [
      ...(turn.text === undefined ? [] : [{ type: 'text', text: turn.text } as const]),
      ...toolCalls.map((call) => ({ type: 'tool_call', id: call.id }) as const),
    ],
    toolCalls,
    model: 'script/ed',
    finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      ...NO_USAGE,
      inputTokens: turn.inputTokens ?? null,
      totalTokens: turn.tokens === undefined ? 10 : turn.tokens,
    },
  }
}

/** Makes the store need many ticks of the event loop for a result. Work that does not wait for the result happens first. */
export const withSlowResults = (ports: Ports): Ports => ({
  ...ports,
  log: {
    ...ports.log,
    async completeCall(...result) {
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
      return ports.log.completeCall(...result)
    },
  },
})

/** Creates a tool that executes `run`. */
export function makeTool(name: string, run: Tool['execute'], more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: name,
    parameters: { type: 'object' },
    idempotent: false,
    timeoutMs: 60_000,
    needsApproval: false,
    execute: run,
    ...more,
  }
}
