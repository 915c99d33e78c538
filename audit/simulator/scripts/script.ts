import type { Consolidation } from '../../../functions/domain/agent.ts'

/**
 * One action of a client, `at` milliseconds after the beginning. `server`: the number of the server that receives the
 * request.
 */
export type Operation = { readonly at: number; readonly session: number; readonly server: number } & (
  | {
      readonly type: 'submit'
      readonly input: Input
      readonly onBusy: 'queue' | 'reject' | 'steer'
      readonly here: boolean
      /** Number of times that a request without acknowledgement is repeated with the same idempotency key. */
      readonly retries: number
      /** Milliseconds from the acknowledgement until a proxy that has lost the response repeats the request. */
      readonly again?: number
      /** How the outcome is delivered: to a receiver that recognises ids (`callback`), or to a thread (`reply`). */
      readonly owes?: 'callback' | 'reply'
    }
  | {
      readonly type: 'continue'
      readonly here: boolean
      /** The idempotency key, and the milliseconds after the acknowledgement at which the request is repeated. */
      readonly repeated?: { readonly key: string; readonly again: number }
    }
  | {
      readonly type: 'decide'
      readonly allow: boolean
      readonly all: boolean
      readonly here: boolean
      /**
       * Set if the client names calls only by their ids. Models reuse ids. When a server refuses an ambiguous id, the
       * client names the call exactly.
       */
      readonly byId?: boolean
      /** Milliseconds after which the request is repeated. By then, the run may have continued. */
      readonly again?: number
    }
  | { readonly type: 'cancel' }
  | { readonly type: 'delete' }
  | { readonly type: 'follow' }
  /**
   * Imports turns of another log. `names`: the names of the turns' inputs. The request is repeated like that of
   * `submit`.
   */
  | { readonly type: 'import'; readonly names: readonly string[]; readonly retries: number; readonly again?: number }
  /** Requests a manual summary with this idempotency key. */
  | { readonly type: 'consolidate'; readonly key: string }
  /** Copies the current log into a session of this name. */
  | { readonly type: 'fork'; readonly name: string; readonly retries: number }
  /** A person rates an answer. */
  | { readonly type: 'rate'; readonly user: string }
)

/** State in which dead processes left a session before the simulation began. */
export type Left = 'running' | 'queued' | 'deleted' | 'expired'

export interface ScriptSession {
  readonly tenant: string
  readonly session: string
  /** If absent, the session is new. */
  readonly left?: Left
  /** Whether the session is deleted after a day without activity. */
  readonly expires?: boolean
}

/** Instructions for the model. They are the text of the input, so that every later holder can read them. */
export interface Input {
  readonly name: string
  readonly rounds: readonly (readonly CallKind[])[]
  readonly ids: 'fresh' | 'repeated' | 'missing'
  /** Whether the model returns calls although the request forbids calls. */
  readonly disobeys?: boolean
  /** Instructions that each `team` call gives to a member. */
  readonly team?: Input
}

/**
 * Kind of a tool call:
 * - `pay`: any tool.
 * - `read`: a repeatable tool.
 * - `ask`: needs the approval of a person.
 * - `local`: the client executes it.
 * - `dump`: has a large output.
 * - `team`: calls a member of the team.
 */
export type CallKind = 'pay' | 'read' | 'ask' | 'local' | 'dump' | 'team'

/** A fault. It happens `at` milliseconds after the beginning, or at the first matching request after that time. */
export type Fault = { readonly at: number } & (
  | { readonly type: 'request'; readonly call: string; readonly how: RequestFault; readonly milliseconds: number }
  /**
   * Delays the first write of `call` until another call of the same session has read and is about to write. The name
   * of this other call begins with `into`. The delay is at most `milliseconds`. With `late`, the sender waits. With
   * `disowned`, the sender gets an error that says that the write failed.
   */
  | {
      readonly type: 'between'
      readonly call: string
      readonly into: string
      readonly how: 'late' | 'disowned'
      readonly milliseconds: number
    }
  | { readonly type: 'outage'; readonly milliseconds: number; readonly call: string }
  | { readonly type: 'kill'; readonly server: number; readonly milliseconds: number; readonly leavesRequests: boolean }
  | { readonly type: 'stop'; readonly server: number; readonly milliseconds: number }
  | {
      readonly type: 'strike'
      /** The first request with this name triggers the fault in its sender. `tool` and `receiver` are names too. */
      readonly call: string
      readonly how: 'kill' | 'stop' | 'restart'
      /** Milliseconds between the arrival of the request and the fault. */
      readonly after: number
      readonly milliseconds: number
      readonly leavesRequests: boolean
    }
  /** Kills each process that sends the request `call` for this session, directly after the request was executed. */
  | { readonly type: 'poison'; readonly session: number; readonly call: string; readonly milliseconds: number }
  | { readonly type: 'restart'; readonly server: number; readonly milliseconds: number }
  | { readonly type: 'clock'; readonly server: number; readonly milliseconds: number }
  /**
   * All processes are suspended for this time, like frozen functions or a sleeping computer. During this time, sessions
   * can expire.
   */
  | { readonly type: 'sleep'; readonly milliseconds: number }
  /** Deletions of sessions with this `left` get an error, or no response. */
  | { readonly type: 'stuck'; readonly left: Left; readonly how: 'refused' | 'silent' }
  | { readonly type: 'hint'; readonly how: 'lost' | 'doubled' | 'late'; readonly milliseconds: number }
  | { readonly type: 'model'; readonly how: ModelFault; readonly milliseconds: number }
  | { readonly type: 'tool'; readonly how: ToolFault; readonly milliseconds: number }
  | { readonly type: 'receiver'; readonly how: ReceiverFault; readonly milliseconds: number }
)

/**
 * Fault of a request:
 * - `refused`: it was not executed, and the sender gets an error that says so.
 * - `unknown`: it was executed, and the sender gets an error that does not say whether it was executed.
 * - `late`: it arrives late.
 * - `slow`: it was executed, and the response is late.
 * - `silent`: it was executed, and no response arrives.
 * - `lost`: it was not executed, and no response arrives.
 */
export type RequestFault = 'refused' | 'unknown' | 'late' | 'slow' | 'silent' | 'lost'
export type ModelFault =
  | 'fails'
  | 'refuses'
  | 'breaks off'
  | 'silent'
  | 'deaf'
  | 'empty'
  | 'cut off'
  | 'slow'
  | 'unopened'
/**
 * `busy`: the receiver refuses the request. `silent`: the request is executed, but no response arrives. `lost`: the
 * request does not arrive. `late`: it arrives late.
 */
export type ReceiverFault = 'busy' | 'silent' | 'lost' | 'late'
export type ToolFault = 'throws' | 'hangs' | 'deaf' | 'slow'

/** Everything that decides a simulation. Equal scripts give equal simulations. */
export interface Script {
  readonly seed: string
  readonly servers: number
  /** Whether the processes are functions instead of servers. A function is frozen between invocations. */
  readonly functions?: boolean
  /** Whether servers hold process locks. If they do, a starting server expires the leases of dead processes. */
  readonly locks?: boolean
  readonly sessions: readonly ScriptSession[]
  /** Policy for summaries. If absent, no summaries are made, because these conversations are short. */
  readonly consolidation?: Consolidation
  /** Whether runs have deliveries. */
  readonly delivers?: boolean
  readonly operations: readonly Operation[]
  readonly faults: readonly Fault[]
  /** Time after which no fault occurs any more, in milliseconds after the beginning. */
  readonly quietAt: number
}
