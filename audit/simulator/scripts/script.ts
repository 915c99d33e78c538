import type { Consolidation } from '../../../functions/domain/agent.ts'

/** One action of a client, `at` milliseconds after the beginning. `server`: the receiver of the request. */
export type Operation = { readonly at: number; readonly session: number; readonly server: number } & (
  | {
      readonly type: 'submit'
      readonly input: Input
      readonly onBusy: 'queue' | 'reject' | 'steer'
      readonly here: boolean
      /** Number of retries with the same idempotency key while no acknowledgement arrives. */
      readonly retries: number
      /** Milliseconds after the acknowledgement at which the request is repeated, as by a proxy that lost the response. */
      readonly again?: number
      /** The kind of delivery of the outcome: to a receiver that recognises ids, or to a thread. */
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
      /** Names calls only by their ids, which models reuse, until a server refuses an ambiguous id. */
      readonly byId?: boolean
      /** Milliseconds after which the request is repeated. The run may have continued by then. */
      readonly again?: number
    }
  | { readonly type: 'cancel' }
  | { readonly type: 'delete' }
  | { readonly type: 'follow' }
  /** Imports turns of another log, named by their inputs. Repeated like `submit`. */
  | { readonly type: 'import'; readonly names: readonly string[]; readonly retries: number; readonly again?: number }
  /** A manual summary with this idempotency key. */
  | { readonly type: 'consolidate'; readonly key: string }
  /** A copy of the current log into a session of this name. */
  | { readonly type: 'fork'; readonly name: string; readonly retries: number }
  /** A person rates an answer. */
  | { readonly type: 'rate'; readonly user: string }
)

/** State in which dead processes left a session before the beginning. */
export type Left = 'running' | 'queued' | 'deleted' | 'expired'

export interface ScriptSession {
  readonly tenant: string
  readonly session: string
  /** Default: a new session. */
  readonly left?: Left
  /** Whether the session is deleted after a day without activity. */
  readonly expires?: boolean
}

/** Instructions for the model. They are the text of the input, so each later holder can read them. */
export interface Input {
  readonly name: string
  readonly rounds: readonly (readonly CallKind[])[]
  readonly ids: 'fresh' | 'repeated' | 'missing'
  /** Whether the model makes calls although the request forbids them. */
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

/** A fault. It happens `at` milliseconds after the beginning, or to the first matching request after that time. */
export type Fault = { readonly at: number } & (
  | { readonly type: 'request'; readonly call: string; readonly how: RequestFault; readonly milliseconds: number }
  /**
   * Delays the first write of this call until another call of its session, whose name begins with `into`, has read and not yet
   * written. If there is none in this time, the write lands by itself. The sender waits, or (`disowned`) gets an error that says
   * that the write failed.
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
      /** The first request of this name, or the first `tool` or `receiver` call, triggers the fault in its sender. */
      readonly call: string
      readonly how: 'kill' | 'stop' | 'restart'
      /** Milliseconds after the arrival of the request. The response follows `milliseconds` later. */
      readonly after: number
      readonly milliseconds: number
      readonly leavesRequests: boolean
    }
  /** Each process that gets the response to such a request for this session dies. */
  | { readonly type: 'poison'; readonly session: number; readonly call: string; readonly milliseconds: number }
  | { readonly type: 'restart'; readonly server: number; readonly milliseconds: number }
  | { readonly type: 'clock'; readonly server: number; readonly milliseconds: number }
  /** All processes are suspended for this time, like frozen functions or a sleeping computer. Sessions expire meanwhile. */
  | { readonly type: 'sleep'; readonly milliseconds: number }
  /** Deletions of such sessions get an error, or no response. */
  | { readonly type: 'stuck'; readonly left: Left; readonly how: 'refused' | 'silent' }
  | { readonly type: 'hint'; readonly how: 'lost' | 'doubled' | 'late'; readonly milliseconds: number }
  | { readonly type: 'model'; readonly how: ModelFault; readonly milliseconds: number }
  | { readonly type: 'tool'; readonly how: ToolFault; readonly milliseconds: number }
  | { readonly type: 'receiver'; readonly how: ReceiverFault; readonly milliseconds: number }
)

/**
 * Fault of a request:
 * - `refused`: it was not executed, and the sender gets an error that says so.
 * - `unknown`: it was executed, and the sender gets an error.
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
 * `busy`: the request is refused. `silent`: the request is executed, without a response. `lost`: the request is neither executed
 * nor answered.
 */
export type ReceiverFault = 'busy' | 'silent' | 'lost' | 'late'
export type ToolFault = 'throws' | 'hangs' | 'deaf' | 'slow'

/** Everything that decides a simulation. Equal scripts give equal simulations. */
export interface Script {
  readonly seed: string
  readonly servers: number
  /** Whether the processes are functions instead of servers. They are frozen between invocations. */
  readonly functions?: boolean
  /** Whether servers hold process locks, so that a starting server expires the leases of dead processes. */
  readonly locks?: boolean
  readonly sessions: readonly ScriptSession[]
  /** Policy for summaries. Default: these short conversations are never summarised. */
  readonly consolidation?: Consolidation
  /** Whether runs have deliveries to receivers. */
  readonly delivers?: boolean
  readonly operations: readonly Operation[]
  readonly faults: readonly Fault[]
  /** Milliseconds after the beginning from which no fault occurs. */
  readonly quietAt: number
}
