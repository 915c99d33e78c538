import type { Delivery } from '../domain/delivery.ts'
import type { RunEvent } from '../domain/events.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Run } from '../domain/runs/run.ts'

/** One row of the outbox that this process has claimed, for as long as `signal` has not aborted. */
export interface Claimed {
  /** As it was last saved. */
  readonly delivery: Delivery
  /** Aborts when the claim is lost, and when this process stops: begin nothing then. */
  readonly signal: AbortSignal
}

/** What a run owes. */
export interface Work extends Claimed {
  /** The run that owes it, or the one that it was merged into, read after the claim. It has started. */
  readonly run: Run
  /**
   * The run's events from its beginning: those of its log, then live ones, until it ends or pauses. Ends without a terminal event
   * when `signal` aborts.
   */
  events(): AsyncIterable<RunEvent>
  /**
   * Replaces the delivery's state, durably when it resolves. Rejects when the claim is lost: then nothing is stored, and nothing
   * may be sent. Save what you intend before you do it, and what came of it afterwards.
   */
  save(state: JsonObject): Promise<void>
}

export type Outcome =
  /** It is over. */
  | { readonly status: 'delivered' | 'failed'; readonly state?: JsonObject; readonly more?: boolean }
  /**
   * Look again at this time (milliseconds since 1970), or when the run goes on; `keepClaim`: not before, whatever the run does. `more`: it
   * has added deliveries to the outbox.
   */
  | { readonly retryAt: number; readonly keepClaim?: true; readonly state?: JsonObject; readonly more?: boolean }

interface ChannelOfKind {
  /** What deliveries with this target have in common that may not respond; left out: the target itself. */
  destination?(target: JsonObject): Json
  /** The state of a delivery that is given up for this reason, so that lists show it. */
  givenUp?(delivery: Delivery, reason: string): JsonObject
}

/** Where deliveries of one kind go. */
export interface RunChannel extends ChannelOfKind {
  /**
   * When the process that executes a run begins to deliver: with the run, to show its progress, or when it has paused or ended.
   * What was left by others is taken up in either case.
   */
  readonly begins: 'start' | 'end'
  /**
   * Brings a delivery as far as it goes now. It may have been begun by a process that died after any of its awaits: the saved
   * state tells what was intended. Rejects for failures that the channel does not know; it is then called again later.
   */
  deliver(work: Work): Promise<Outcome>
}

/** What is to be done for a session, whatever its runs do: it begins with a hint. Otherwise as `RunChannel`. */
export interface SessionChannel extends ChannelOfKind {
  readonly begins: 'hint'
  deliver(work: Claimed): Promise<Outcome>
}

export type Channel = RunChannel | SessionChannel
