import type { Delivery } from '../domain/delivery.ts'
import type { RunEvent } from '../domain/events.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Run } from '../domain/runs/run.ts'

/** One row of the outbox, claimed by this process until `signal` aborts. */
export interface Claimed {
  /** The row as it was last saved. */
  readonly delivery: Delivery
  /** Aborts when the claim is lost, or when this process stops. After the abort, the channel must start nothing more. */
  readonly signal: AbortSignal
}

/** A claimed delivery of a run. */
export interface Work extends Claimed {
  /** The run of the delivery, or the run that it was merged into, read after the claim. The run has started. */
  readonly run: Run
  /**
   * The run's events from its start: those of its log, then live ones, until the run ends or pauses. Ends without a
   * terminal event when `signal` aborts.
   */
  events(): AsyncIterable<RunEvent>
  /**
   * Replaces the delivery's state, durably when it resolves. Rejects if the claim is lost: then nothing is stored, and
   * nothing may be sent. Save the intention before each effect, and its outcome afterwards.
   */
  save(state: JsonObject): Promise<void>
}

export type Outcome =
  /** The delivery is finished. */
  | { readonly status: 'delivered' | 'failed'; readonly state?: JsonObject; readonly more?: boolean }
  /**
   * The delivery must be continued at `retryAt` (milliseconds since 1970), or earlier if the run continues. With
   * `keepClaim`, it is not continued earlier, even if the run continues. `more`: the channel added deliveries to the
   * outbox.
   */
  | { readonly retryAt: number; readonly keepClaim?: true; readonly state?: JsonObject; readonly more?: boolean }

interface ChannelOfKind {
  /**
   * Whether this process has the settings for deliveries with this target. Default: yes. A process without the settings leaves
   * the delivery to other processes with the same store.
   */
  serves?(target: JsonObject): Promise<boolean>
  /**
   * Returns a value that identifies the receiver of this target. Deliveries to one receiver are limited, in case it is
   * unresponsive. Default: the target itself.
   */
  destination?(target: JsonObject): Json
  /** Returns the final state of a delivery that is abandoned for this reason. Lists show this state. */
  givenUp?(delivery: Delivery, reason: string): JsonObject
}

/** Delivers rows of one kind to their targets. */
export interface RunChannel extends ChannelOfKind {
  /**
   * The event at which the process that executes a run starts the run's delivery. `start`: when the run starts or
   * resumes, to show its progress. `end`: when the run has paused or ended. With both values, deliveries that other
   * processes left unfinished are resumed.
   */
  readonly begins: 'start' | 'end'
  /**
   * Advances a delivery. An earlier process may have crashed at any `await` of this function. The saved state shows
   * which effect that process intended. Rejects for unknown failures; the driver then calls this function again later.
   */
  deliver(work: Work): Promise<Outcome>
}

/**
 * A channel for work of a session that does not depend on the session's runs. Its work starts with a hint. Otherwise like
 * `RunChannel`.
 */
export interface SessionChannel extends ChannelOfKind {
  readonly begins: 'hint'
  deliver(work: Claimed): Promise<Outcome>
}

export type Channel = RunChannel | SessionChannel
