import type { RunEvent } from '../../../functions/domain/events.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { Logger } from '../../../functions/ports/logger.ts'
import { checkConversation } from '../actors/conversation.ts'
import type { Deliveries } from '../actors/deliveries.ts'
import type { EngineSteps } from './engine-steps.ts'
import { createHints } from './hints.ts'
import type { SimulatedIndex } from '../history/simulated-index.ts'
import type { Hints } from './hints.ts'
import { expireLeases } from './process-locks.ts'
import { createInstances, FUNCTION_MS } from './instances.ts'
import type { Instances } from './instances.ts'
import { createModels } from '../model.ts'
import type { Effects } from '../model.ts'
import { observed, sessionIn, throughNetwork } from './network.ts'
import type { StepsOf } from './network.ts'
import { createProgram } from '../program.ts'
import type { Program, ProgramPorts } from '../program.ts'
import type { Fault } from '../scripts/script.ts'
import type { Sessions } from '../actors/sessions.ts'
import type { MemoryOutputs } from './outputs.ts'
import type { SharedStore } from './stores.ts'
import { createProcess } from './timeline.ts'
import type { Process } from './timeline.ts'
import { createTools } from '../actors/tools.ts'
import type { Begun } from '../actors/tools.ts'
import { pause, processNow } from './virtual-globals.ts'
import type { Harness } from '../harness.ts'

/** A server that runs the program. If its process dies, a new process replaces it. */
export interface Server {
  process: Process
  /** Absent while the program starts or stops. */
  program: Program | undefined
}

export interface Servers {
  readonly all: readonly Server[]
  /** Starts the servers of the script. If the script has functions, starts to invoke them. */
  start(): void
  /**
   * Executes `work` in the program of a server, or of an instance of the function. Returns false if no process accepts
   * the work.
   */
  call(number: number, work: (program: Program) => Promise<unknown>): boolean
  /** Triggers a fault of a process. */
  afflict(fault: Fault): void
}

interface Parts {
  readonly harness: Harness
  readonly store: SharedStore
  /** Turns each request to the store's engine into a step. Undefined if each call of a port is one step. */
  readonly engine: EngineSteps | undefined
  readonly outputs: MemoryOutputs
  readonly effects: Effects
  readonly sessions: Sessions
  readonly index: SimulatedIndex
  readonly deliveries: Deliveries
  readonly begun: Begun
  readonly plant: (ports: ProgramPorts) => ProgramPorts
}

/** Interval of the functions' sweeps. A sweep stops `SWEEP_MARGIN_MS` before the time limit of its invocation. */
export const SWEEPS_MS = 60_000
const SWEEP_MARGIN_MS = 15_000

export function createServers(parts: Parts): Servers {
  const { harness } = parts
  const hints = createHints(harness)
  let boots = 0
  const ended: string[] = []
  const instances = createInstances(harness, (process) => createProgramOf(parts, process, hints))
  const isFunction = harness.script.functions === true
  const all = Array.from({ length: isFunction ? 0 : harness.script.servers }, (_, number): Server => {
    return { process: createProcess(`s${number + 1}`), program: undefined }
  })

  function boot(server: Server): void {
    const name = server.process.name.replace(/\..*/, '')
    const process = createProcess(`${name}.${++boots}`)
    process.skew = server.process.skew
    server.process = process
    if (harness.script.locks === true && ended.length > 0) expireLeases(parts, process, ended, all)
    const program = createProgramOf(parts, process, hints)
    harness.timeline.after(0, process, () => {
      harness.note(`${process.name} starts`)
      program.start()
      server.program = program
    })
  }

  function end(server: Server, milliseconds: number): void {
    server.program = undefined
    harness.timeline.kill(server.process)
    harness.note(`${server.process.name} is dead`)
    ended.push(server.process.name)
    harness.timeline.after(milliseconds, undefined, () => boot(server))
  }

  function restart(server: Server, milliseconds: number): void {
    const { process, program } = server
    if (program === undefined || process.state !== 'running') return
    harness.note(`${process.name} is told to stop`)
    server.program = undefined
    // After this time, the process ends even if its work is not finished. The real program does this too.
    const over = harness.timeline.after(milliseconds, undefined, () => end(server, 1_000))
    harness.timeline.after(0, process, () => {
      void program.stop().then(() => {
        if (over.cancelled || process.state === 'dead') return
        over.cancelled = true
        harness.timeline.after(0, undefined, () => end(server, 1_000))
      })
    })
  }

  function kill(
    server: Server,
    { leavesRequests, milliseconds }: Pick<Strike, 'leavesRequests' | 'milliseconds'>,
  ): void {
    if (server.process.state === 'dead') return
    server.process.leavesRequests = leavesRequests
    end(server, milliseconds)
  }

  function stop({ process }: Server, { milliseconds }: Pick<Strike, 'milliseconds'>): void {
    if (process.state !== 'running') return
    harness.note(`${process.name} stands still for ${milliseconds} ms`)
    harness.timeline.stop(process)
    harness.timeline.after(milliseconds, undefined, () => {
      if (process.state === 'stopped') harness.note(`${process.name} goes on`)
      harness.timeline.resume(process)
    })
  }

  harness.afflict = (process, fault) => {
    const server = all.find((one) => one.process === process)
    if (server === undefined) return instances.afflict(process, fault)
    if (fault.how === 'kill') kill(server, fault)
    else if (fault.how === 'stop') stop(server, fault)
    else restart(server, fault.milliseconds)
  }
  return {
    all,
    start() {
      for (const server of all) boot(server)
      if (isFunction) invokeFunctions(harness, hints, instances)
    },
    call(number, work) {
      if (isFunction) {
        instances.invoke(0, work).catch((error: unknown) => harness.note(`an invocation failed: ${String(error)}`))
        return true
      }
      const { process, program } = all[number % all.length] ?? {}
      if (process === undefined || program === undefined || process.state === 'dead') return false
      harness.timeline.after(0, process, () => void work(program))
      return true
    },
    afflict(fault) {
      if (!('server' in fault)) return
      if (isFunction) return afflictInstance(instances, fault)
      const server = all[fault.server % all.length]
      if (server === undefined || server.process.state !== 'running') return
      if (fault.type === 'kill') kill(server, fault)
      else if (fault.type === 'stop') stop(server, fault)
      else if (fault.type === 'restart') restart(server, fault.milliseconds)
      else {
        server.process.skew += fault.milliseconds
        harness.note(`${server.process.name} has its clock set by ${fault.milliseconds} ms`)
      }
    },
  }
}

/** Invokes the functions: once for each hint of the queue, and once per interval for a sweep. */
function invokeFunctions(harness: Harness, hints: Hints, instances: Instances): void {
  hints
    .queueOf(createProcess('queue'))
    .consume((hint) => instances.invoke(hint.hops ?? 0, (program) => program.serve(hint)))
  const sweep = (): void => {
    instances
      .invoke(0, (program) => program.sweep(FUNCTION_MS - SWEEP_MARGIN_MS))
      .catch((error: unknown) => harness.note(`a sweep failed: ${String(error)}`))
    harness.timeline.after(SWEEPS_MS, undefined, sweep)
  }
  sweep()
}

function afflictInstance(instances: Instances, fault: Extract<Fault, { readonly server: number }>): void {
  const processes = instances.processes()
  const process = processes[fault.server % Math.max(1, processes.length)]
  if (process === undefined) return
  if (fault.type === 'clock') process.skew += fault.milliseconds
  else {
    const leavesRequests = fault.type === 'kill' && fault.leavesRequests
    const { milliseconds } = fault
    instances.afflict(process, { how: fault.type === 'stop' ? 'stop' : 'kill', milliseconds, leavesRequests })
  }
}

type Strike = Extract<Fault, { type: 'strike' }>

function createProgramOf(parts: Parts, process: Process, hints: Hints): Program {
  const { harness, store, outputs, effects, sessions, index, deliveries } = parts
  const clock = {
    now: () => processNow(process),
    sleep: (milliseconds: number, signal?: AbortSignal) => pause(process, milliseconds, signal),
  }
  const raw = store.portsFor(clock, process)
  const over = <Port extends object>(name: string, port: Port): Port =>
    throughNetwork(
      harness,
      process,
      name,
      port,
      async (sender, call, args, outcome) => {
        await sessions.observe(sender, call, args, outcome)
        if (parts.engine === undefined || call !== 'outbox.change') deliveries.observe(call, args, outcome)
        if ('value' in outcome) index.observe(call, sessionIn(args))
      },
      parts.engine && stepsOf(parts, parts.engine, process),
    )
  const { names: _, ...objects } = outputs
  const check = (request: ModelRequest): void => {
    // After a day, servers forget idempotency keys. A repeated input may then be in the log twice, so the check is
    // skipped.
    if (harness.timeline.slept() === 0) checkConversation(sessions, request)
  }
  const queue = hints.queueOf(process)
  const sent = over('queue', { send: queue.send })
  const ports = {
    sessions: over('sessions', raw.sessions),
    inbox: over('inbox', raw.inbox),
    lease: over('lease', raw.lease),
    log: over('log', raw.log),
    reader: over('reader', raw.reader),
    imports: over('imports', raw.imports),
    janitor: over('janitor', raw.janitor),
    deletion: over('deletion', raw.deletion),
    outbox: over('outbox', raw.outbox),
    feedback: over('feedback', raw.feedback),
    received: over('received', raw.received),
    names: over('names', raw.names),
    keys: over('keys', raw.keys),
    usage: over('usage', raw.usage),
    outputs: over('outputs', objects),
    index: over('index', index.searched),
    queue: { ...sent, consume: queue.consume },
    models: createModels(harness, process, effects, check),
    clock,
    logger: createLogger(harness, process),
  }
  const tools = createTools(harness, process, effects, parts.begun)
  const observe = (key: SessionKey, event: RunEvent): void => sessions.noteEvent(key, event)
  const { consolidation, delivers, functions } = harness.script
  return createProgram(parts.plant(ports), tools, {
    observe,
    consolidation,
    ...(delivers === true ? { channels: deliveries.channelsOf(process, ports) } : {}),
    ...(functions === true ? { hintLater: hints.later } : {}),
  })
}

/**
 * Inspects each write of a call as soon as the write has landed, because the sender may die before the call returns.
 */
const stepsOf =
  ({ harness, sessions, deliveries, index }: Parts, engine: EngineSteps, process: Process): StepsOf =>
  (call, args, work) => {
    const session = sessionIn(args)
    const inspect = async (): Promise<void> => {
      await sessions.observe(process, call, args, { value: undefined })
      deliveries.observeWritten(call, args)
      index.observe(call, session)
    }
    const written = (): Promise<void> => observed(harness, inspect)
    return () => engine.during({ process, name: call, session, written }, work)
  }

const createLogger = (harness: Harness, process: Process): Logger => ({
  info: (message) => harness.note(`${process.name} logs: ${message}`),
  warn: (message, fields) =>
    harness.note(`${process.name} logs: ${message} ${JSON.stringify(fields?.['error'] ?? '')}`),
  error: (message, cause) =>
    harness.note(`${process.name} logs: ${message}: ${cause instanceof Error ? cause.message : String(cause)}`),
})
