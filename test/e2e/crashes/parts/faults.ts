import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Ports } from '../../../../functions/runtime/program.ts'
import type { Tool } from '../../../../functions/ports/tool.ts'
import { waitUntilQuiet } from './quiet-database.ts'

/** A kill of the process, before or after the n-th durable step of a session or of a kind. */
export interface Fault {
  readonly session: string
  readonly step: number
  readonly kind?: string
  readonly when: 'before' | 'after'
  /** Whether the process is stopped with SIGSTOP until SIGCONT, instead of killed. */
  readonly stops?: boolean
}

type StepPorts = Pick<
  Ports,
  'sessions' | 'inbox' | 'lease' | 'log' | 'janitor' | 'deletion' | 'outputs' | 'imports' | 'outbox' | 'names'
>

/** Every port method that changes what is stored. */
const STEPS: { readonly [name in keyof StepPorts]: readonly (keyof StepPorts[name] & string)[] } = {
  sessions: ['create', 'update'],
  inbox: ['enqueue', 'resolve', 'cancel'],
  lease: ['start', 'take', 'claim', 'heartbeat', 'release'],
  log: [
    'appendRound',
    'append',
    'completeCall',
    'beginApproved',
    'repair',
    'steer',
    'pause',
    'endRun',
    'recordDecision',
  ],
  janitor: ['clearDue', 'postpone'],
  deletion: ['tombstone', 'removeRows', 'markRemoved', 'finish'],
  outputs: ['put', 'removeAll'],
  imports: ['append'],
  outbox: ['add', 'change'],
  names: ['give'],
}

/** Kinds of the durable steps of ports: `<port>.<method>`. */
export const PORT_STEPS: readonly string[] = Object.entries(STEPS).flatMap(([port, methods]) =>
  methods.map((method) => `${port}.${method}`),
)

export interface FaultPoints {
  ports<Given extends Ports>(ports: Given): Given
  tool(tool: Tool): Tool
}

/**
 * Ports and tools that kill this process at `fault`. `trace`: the file to which the session and the kind of each step
 * are written. `database`: the SQLite file whose lock must be free when the process is stopped.
 */
export function createFaultPoints(fault: Fault | undefined, trace: string, database?: string): FaultPoints {
  let count = 0

  function begin(session: string, kind: string): number {
    appendFileSync(trace, `${session}\t${kind}\n`)
    if (session !== fault?.session || kind !== (fault.kind ?? kind)) return -1
    count++
    kill(count, 'before')
    return count
  }

  function kill(step: number, when: Fault['when']): void {
    if (step !== fault?.step || when !== fault.when) return
    // A killed process would leave no compile cache for the next one. The flush is synchronous, so no other step can
    // happen before the kill.
    flushCompileCache()
    if (fault.stops === true && database !== undefined) waitUntilQuiet(database)
    process.kill(process.pid, fault.stops === true ? 'SIGSTOP' : 'SIGKILL')
  }

  function wrap<Port extends object>(port: Port, name: string, methods: readonly (keyof Port & string)[]): Port {
    const wrapped: Record<string, unknown> = {}
    for (const method of methods) {
      const original = port[method] as (...given: unknown[]) => Promise<unknown>
      wrapped[method] = async (...given: unknown[]): Promise<unknown> => {
        const of = given[0] as { readonly session: string } | { readonly key: { readonly session: string } }
        const step = begin('key' in of ? of.key.session : of.session, `${name}.${method}`)
        const result = await original(...given)
        kill(step, 'after')
        return result
      }
    }
    return { ...port, ...wrapped }
  }

  return {
    ports: (ports) => ({
      ...ports,
      sessions: wrap(ports.sessions, 'sessions', STEPS.sessions),
      inbox: wrap(ports.inbox, 'inbox', STEPS.inbox),
      lease: wrap(ports.lease, 'lease', STEPS.lease),
      log: wrap(ports.log, 'log', STEPS.log),
      janitor: wrap(ports.janitor, 'janitor', STEPS.janitor),
      deletion: wrap(ports.deletion, 'deletion', STEPS.deletion),
      outputs: wrap(ports.outputs, 'outputs', STEPS.outputs),
      imports: wrap(ports.imports, 'imports', STEPS.imports),
      outbox: wrap(ports.outbox, 'outbox', STEPS.outbox),
      names: wrap(ports.names, 'names', STEPS.names),
    }),
    tool: (tool) => ({
      ...tool,
      async execute(input, context) {
        const step = begin(context.session, `tool.${tool.name}`)
        const output = await tool.execute(input, context)
        kill(step, 'after')
        return output
      },
    }),
  }
}
