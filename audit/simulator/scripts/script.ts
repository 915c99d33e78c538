import type { Consolidation } from '../../../functions/domain/agent.ts'

/** One action of a client, `at` milliseconds from the beginning. `server`: the receiver of the request. */
export type Operation = { readonly at: number; readonly session: number; readonly server: number } & (
  | {
      readonly type: 'submit'
      readonly input: Input
      readonly onBusy: 'queue' | 'reject' | 'steer'
      readonly here: boolean
      /** How often it is tried again, with the same idempotency key, when no acknowledgement comes. */
      readonly retries: number
      /** Sent once more so long after its acknowledgement, as by a proxy that lost it. */
      readonly again?: number
      /** Where the outcome is delivered: to a receiver that recognises ids, or in a thread. */
      readonly owes?: 'callback' | 'reply'
    }
  | {
      readonly type: 'continue'
      readonly here: boolean
      /** The idempotency key, under which it is sent once more so long after its acknowledgement. */
      readonly repeated?: { readonly key: string; readonly again: number }
    }
  | {
      readonly type: 'decide'
      readonly allow: boolean
      readonly all: boolean
      readonly here: boolean
      /** Names calls by their ids alone, which models use again, until a server asks which is meant. */
      readonly byId?: boolean
      /** Milliseconds after which the request is sent once more. The run may have continued by then. */
      readonly again?: number
    }
  | { readonly type: 'cancel' }
  | { readonly type: 'delete' }
  | { readonly type: 'follow' }
  /** Turns of another log, by what people said in them; repeated as `submit` is. */
  | { readonly type: 'import'; readonly names: readonly string[]; readonly retries: number; readonly again?: number }
  /** A summary by hand, under this idempotency key. */
  | { readonly type: 'consolidate'; readonly key: string }
  /** A copy of the log so far, in a session of this name. */
  | { readonly type: 'fork'; readonly name: string; readonly retries: number }
  /** A person rates an answer. */
  | { readonly type: 'rate'; readonly user: string }
)

/** State of a session at the beginning, left by dead processes. */
export type Left = 'running' | 'queued' | 'deleted' | 'expired'

export interface ScriptSession {
  readonly tenant: string
  readonly session: string
  /** Left out: new. */
  readonly left?: Left
  /** Whether it is deleted after a day without activity. */
  readonly expires?: boolean
}

/** Instructions for the model. They travel in the text of the input, so that each later holder knows them. */
export interface Input {
  readonly name: string
  readonly rounds: readonly (readonly CallKind[])[]
  readonly ids: 'fresh' | 'repeated' | 'missing'
  /** Asks for calls when it may not. */
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

/** A fault. It happens at `at` milliseconds from the beginning, or to the first fitting request after that. */
export type Fault = { readonly at: number } & (
  | { readonly type: 'request'; readonly call: string; readonly how: RequestFault; readonly milliseconds: number }
  /**
   * Delays the first write of this call until another call of its session, one like `into`, has read and not yet
   * written. If none does in this time, the write lands alone. Its sender waits, or (`disowned`) got an error that says
   * it failed for good.
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
      /** The first such request, or the first `tool` or `receiver`, brings it on for its sender. */
      readonly call: string
      readonly how: 'kill' | 'stop' | 'restart'
      /** Milliseconds after the arrival of the request. The response follows `milliseconds` later. */
      readonly after: number
      readonly milliseconds: number
      readonly leavesRequests: boolean
    }
  /** A process that gets the response to such a request about this session dies, whenever and how often that is. */
  | { readonly type: 'poison'; readonly session: number; readonly call: string; readonly milliseconds: number }
  | { readonly type: 'restart'; readonly server: number; readonly milliseconds: number }
  | { readonly type: 'clock'; readonly server: number; readonly milliseconds: number }
  /** All processes stand still for so long: frozen functions, a computer asleep. Sessions expire meanwhile. */
  | { readonly type: 'sleep'; readonly milliseconds: number }
  /** Whatever deletes such sessions gets an error, or hears nothing. */
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
/** `busy`: it says so, and did nothing. `silent`: it did what it was asked, and does not say so. `lost`: neither. */
export type ReceiverFault = 'busy' | 'silent' | 'lost' | 'late'
export type ToolFault = 'throws' | 'hangs' | 'deaf' | 'slow'

/** All that a simulation is made of; the same script gives the same simulation. */
export interface Script {
  readonly seed: string
  readonly servers: number
  /** Instead of servers: functions, which are frozen between two invocations. */
  readonly functions?: boolean
  /** Whether servers hold locks, so that one that starts expires the leases of dead processes. */
  readonly locks?: boolean
  readonly sessions: readonly ScriptSession[]
  /** When conversations are summarised; left out: never in so short ones. */
  readonly consolidation?: Consolidation
  /** Whether runs owe something to the world outside. */
  readonly delivers?: boolean
  readonly operations: readonly Operation[]
  readonly faults: readonly Fault[]
  /** From here on nothing goes wrong any more, in milliseconds from the beginning. */
  readonly quietAt: number
}
