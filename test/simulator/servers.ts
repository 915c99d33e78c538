import type { HistoryIndex } from '../../functions/ports/history-index.ts'
import type { Logger } from '../../functions/ports/logger.ts'
import { createHints } from './hints.ts'
import { createModels } from './model.ts'
import type { Effects } from './model.ts'
import { throughNetwork } from './network.ts'
import { createProgram } from './program.ts'
import type { Program, ProgramPorts } from './program.ts'
import type { Fault } from './script.ts'
import type { Sessions } from './sessions.ts'
import type { MemoryOutputs, SharedStore } from './stores.ts'
import { createProcess } from './timeline.ts'
import type { Process } from './timeline.ts'
import { createTools } from './tools.ts'
import type { Begun } from './tools.ts'
import { pause, processNow } from './virtual-globals.ts'
import type { World } from './world.ts'

/** A place where the program runs: again in a new process after it died. */
export interface Server {
  process: Process
  /** Absent while it starts or stops. */
  program: Program | undefined
}

export interface Servers {
  readonly all: readonly Server[]
  boot(server: Server): void
  /** Lets a fault of a process happen. */
  afflict(fault: Fault): void
}

interface Parts {
  readonly world: World
  readonly store: SharedStore
  readonly outputs: MemoryOutputs
  readonly effects: Effects
  readonly sessions: Sessions
  readonly begun: Begun
  readonly plant: (ports: ProgramPorts) => ProgramPorts
}

const NOTHING: HistoryIndex = { search: async () => ({ hits: [] }), locate: async () => undefined }

export function createServers(parts: Parts): Servers {
  const { world } = parts
  const hints = createHints(world)
  let boots = 0
  const all = Array.from({ length: world.script.servers }, (_, number): Server => {
    return { process: createProcess(`s${number + 1}`), program: undefined }
  })

  function boot(server: Server): void {
    const name = server.process.name.replace(/\..*/, '')
    const process = createProcess(`${name}.${++boots}`)
    process.skew = server.process.skew
    server.process = process
    const program = createProgramOf(parts, process, hints.queueOf(process))
    world.timeline.after(0, process, () => {
      world.note(`${process.name} starts`)
      program.start()
      server.program = program
    })
  }

  function end(server: Server, milliseconds: number): void {
    server.program = undefined
    world.timeline.kill(server.process)
    world.note(`${server.process.name} is dead`)
    world.timeline.after(milliseconds, undefined, () => boot(server))
  }

  function restart(server: Server, milliseconds: number): void {
    const { process, program } = server
    if (program === undefined || process.state !== 'running') return
    world.note(`${process.name} is told to stop`)
    server.program = undefined
    // As the program itself: what does not stop in time is left behind.
    const over = world.timeline.after(milliseconds, undefined, () => end(server, 1_000))
    world.timeline.after(0, process, () => {
      void program.stop().then(() => {
        if (over.cancelled || process.state === 'dead') return
        over.cancelled = true
        world.timeline.after(0, undefined, () => end(server, 1_000))
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
    world.note(`${process.name} stands still for ${milliseconds} ms`)
    world.timeline.stop(process)
    world.timeline.after(milliseconds, undefined, () => {
      if (process.state === 'stopped') world.note(`${process.name} goes on`)
      world.timeline.resume(process)
    })
  }

  world.afflict = (process, fault) => {
    const server = all.find((one) => one.process === process)
    if (server === undefined) return
    if (fault.how === 'kill') kill(server, fault)
    else stop(server, fault)
  }
  return {
    all,
    boot,
    afflict(fault) {
      if (!('server' in fault)) return
      const server = all[fault.server % all.length]
      if (server === undefined || server.process.state !== 'running') return
      if (fault.type === 'kill') kill(server, fault)
      else if (fault.type === 'stop') stop(server, fault)
      else if (fault.type === 'restart') restart(server, fault.milliseconds)
      else {
        server.process.skew += fault.milliseconds
        world.note(`${server.process.name} has its clock set by ${fault.milliseconds} ms`)
      }
    },
  }
}

type Strike = Extract<Fault, { type: 'strike' }>

function createProgramOf(
  parts: Parts,
  process: Process,
  queue: ReturnType<ReturnType<typeof createHints>['queueOf']>,
): Program {
  const { world, store, outputs, effects, sessions } = parts
  const clock = {
    now: () => processNow(process),
    sleep: (milliseconds: number, signal?: AbortSignal) => pause(process, milliseconds, signal),
  }
  const raw = store.portsFor(clock)
  const over = <Port extends object>(name: string, port: Port): Port =>
    throughNetwork(world, process, name, port, sessions.observe)
  const { names: _, ...objects } = outputs
  const sent = over('queue', { send: queue.send })
  const ports = {
    sessions: over('sessions', raw.sessions),
    inbox: over('inbox', raw.inbox),
    lease: over('lease', raw.lease),
    log: over('log', raw.log),
    reader: over('reader', raw.reader),
    janitor: over('janitor', raw.janitor),
    deletion: over('deletion', raw.deletion),
    keys: over('keys', raw.keys),
    outputs: over('outputs', objects),
    index: NOTHING,
    queue: { ...sent, consume: queue.consume },
    models: createModels(world, process, effects),
    clock,
    logger: createLogger(world, process),
  }
  const tools = createTools(world, process, effects, parts.begun)
  return createProgram(parts.plant(ports), tools, (key, event) => sessions.noteEvent(key, event))
}

const createLogger = (world: World, process: Process): Logger => ({
  info: (message) => world.note(`${process.name} logs: ${message}`),
  warn: (message, fields) => world.note(`${process.name} logs: ${message} ${JSON.stringify(fields?.['error'] ?? '')}`),
  error: (message, cause) =>
    world.note(`${process.name} logs: ${message}: ${cause instanceof Error ? cause.message : String(cause)}`),
})
