import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestKind } from '../stores.ts'

/** Decision of the scheduler about a write when it is sent. */
export type Fate =
  /** The write lands and its sender gets the response. */
  | 'lands'
  /** The write lands, its response is lost, and the sender repeats it. */
  | 'response lost'
  /** The write lands, and a retried copy is still in flight. */
  | 'lands twice'
  /** The sender dies; the write is still in flight. */
  | 'lands late'

/** Description of a write, used to check its effects. */
export interface Act {
  readonly name: string
  /**
   * Generation of the lease under which the write is sent. For a start or a take, this is the generation in the header
   * that the process has read.
   */
  readonly generation?: number
}

/** A write that was sent and has not landed. */
export interface Flight extends Act {
  readonly sender: string
  land(): Promise<unknown>
}

/** A scripted process. It stops at each step until the scheduler resumes it. */
export interface Process {
  readonly name: string
  /** Stops before a read or a local step; `enabled` returns whether the process may continue. */
  at(label: string, enabled?: () => boolean): Promise<void>
  /** Stops before a write, whose outcome the scheduler decides. */
  write<T>(act: Act, send: () => Promise<T>): Promise<T>
  /** Set while this process believes that it holds the lease. */
  holding?: { readonly generation: number; beat(): () => Promise<void> }
}

interface Parked {
  readonly label: string
  readonly act: Act | undefined
  readonly enabled: () => boolean
  readonly resume: (fate: Fate) => void
}

export interface ProcessState {
  readonly process: Process
  /** The process of which this one is a part, or this process itself. Both die together. */
  readonly root: ProcessState
  readonly parked: Parked[]
  /** The current write of the process. */
  act: Act | undefined
  failure: unknown
  done: boolean
  /** Resolves after the last request of the process's port calls. Requests are executed one after the other. */
  requests: Promise<unknown>
  /** Resolves when the process has stopped again or ended. */
  stopped: PromiseWithResolvers<void>
}

export interface Processes {
  readonly all: ReadonlySet<ProcessState>
  readonly flights: Flight[]
  /** Starts a process. With `parent`, the new process is a concurrent part of `parent`. */
  spawn(name: string, body: (process: Process) => Promise<void>, parent?: Process): ProcessState
  /** Resumes one process until it stops again. */
  resume(state: ProcessState, fate: Fate): Promise<void>
  /** Kills the process and its parts: they never continue, and their unsent requests are never sent. */
  kill(state: ProcessState): void
  /**
   * Executes one request of a port call. The process stops before the request, so that other writes can happen first.
   */
  between<T>(request: () => Promise<T>, kind?: RequestKind): Promise<T>
  /** Whether a write may have happened since the last call of this method. */
  mayHaveWritten(): boolean
}

/** Runs processes one step at a time, never concurrently. */
export function createProcesses(): Processes {
  const all = new Set<ProcessState>()
  const flights: Flight[] = []
  const running = new AsyncLocalStorage<ProcessState>()
  // An engine that does not report its requests may have written at any step.
  let [seesRequests, wrote] = [false, false]

  function park(state: ProcessState, label: string, act?: Act, enabled = () => true): Promise<Fate> {
    return new Promise((resume) => {
      state.parked.push({ label, act, enabled, resume })
      state.stopped.resolve()
    })
  }

  async function write<T>(state: ProcessState, act: Act, send: () => Promise<T>): Promise<T> {
    const fate = await park(state, act.name, act)
    if (fate === 'lands late') {
      flights.push({ ...act, sender: state.process.name, land: send })
      kill(state)
      return new Promise<never>(() => {})
    }
    state.act = act
    try {
      if (fate !== 'response lost') return await send()
      await send().catch((error: unknown) => error)
      await park(state, `${act.name}, again`)
      return await send()
    } finally {
      state.act = undefined
      if (fate === 'lands twice') flights.push({ ...act, sender: state.process.name, land: send })
    }
  }

  function kill({ root }: ProcessState): void {
    for (const state of all) {
      if (state.root !== root) continue
      all.delete(state)
      state.parked.length = 0
      state.stopped.resolve()
    }
  }

  function spawn(name: string, body: (process: Process) => Promise<void>, parent?: Process): ProcessState {
    const process: Process = {
      name,
      at: async (label, enabled) => void (await park(state, label, undefined, enabled)),
      write: (act, send) => write(state, act, send),
    }
    const above = parent === undefined ? undefined : [...all].find((one) => one.process === parent)
    const state: ProcessState = {
      process,
      get root() {
        return above?.root ?? state
      },
      parked: [],
      act: undefined,
      failure: undefined,
      done: false,
      requests: Promise.resolve(),
      stopped: Promise.withResolvers(),
    }
    all.add(state)
    void running
      .run(state, () => body(process))
      .then(
        () => finish(state),
        (error: unknown) => {
          state.failure = error
          finish(state)
        },
      )
    return state
  }

  function finish(state: ProcessState): void {
    state.done = true
    all.delete(state)
    state.stopped.resolve()
  }

  return {
    all,
    flights,
    spawn,
    kill,
    async resume(state, fate) {
      const parked = state.parked.splice(0)
      state.stopped = Promise.withResolvers()
      for (const one of parked) one.resume(fate)
      await state.stopped.promise
    },
    mayHaveWritten() {
      const response = wrote || !seesRequests
      wrote = false
      return response
    },
    between(request, kind) {
      const state = running.getStore()
      // A check of the store sends requests outside of all processes. These requests are executed at once.
      if (state === undefined) return request()
      seesRequests ||= kind !== undefined
      const made = state.requests.then(async () => {
        await park(state, 'inside')
        wrote ||= kind === 'write'
        return request()
      })
      state.requests = made.catch(() => {})
      return made
    },
  }
}
