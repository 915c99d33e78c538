import { isFree } from '../../../functions/domain/session.ts'
import type { SessionHeader, SessionKey } from '../../../functions/domain/session.ts'
import type { SessionPorts, Stores } from '../stores.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Processes } from './processes.ts'

/** Kind of tool that the scripted model calls: once-only, repeatable, executed by the client, or needing approval. */
export type CallKind = 'tool' | 'idempotent' | 'client' | 'approval'

/** A call, or the task of a team member. */
export type PlannedCall = CallKind | { readonly team: Plan }

/**
 * The model's plan for an input or a task. The text of the input or task contains the plan, so any holder can follow
 * it.
 */
export interface Plan {
  readonly rounds: readonly (readonly PlannedCall[])[]
  readonly fails: boolean
}

/** A violated promise. */
export class Violation extends Error {
  readonly rule: string

  constructor(rule: string, detail = '') {
    super(detail === '' ? rule : `${rule}: ${detail}`)
    this.name = 'Violation'
    this.rule = rule
  }
}

export function must(rule: string, holds: boolean, detail = ''): void {
  if (!holds) throw new Violation(rule, detail)
}

/** Facts outside the store: acknowledgements that processes got, and effects of their tools. */
export interface Ghosts {
  /** Runs that were acknowledged, by the number of their input. */
  readonly accepted: Map<number, string>
  /** Inputs in the order in which they were sent. `after` has the runs that were acknowledged before the input was sent. */
  readonly sent: { readonly input: number; readonly after: readonly string[] }[]
  /** Runs whose cancel was acknowledged. */
  readonly cancelled: Set<string>
  /** Number of starts of a call's tool, by message id. */
  readonly starts: Map<string, number>
  /** The highest generation whose holder has read the log. */
  readGeneration: number
  /** Whether a crash, an expiry, a late write or a lost write has happened. */
  disturbed: boolean
  /**
   * Whether a round may land although its holder got a final error. The holder then stores the error's message with the
   * same round number.
   */
  readonly disowned?: boolean
  /** Whether a deletion was acknowledged. */
  deleted: boolean
}

/** One session, its processes, and the facts about them. */
export interface Harness {
  readonly key: SessionKey
  readonly stores: Stores
  readonly processes: Processes
  readonly ghosts: Ghosts
  /** The state after the last step. */
  seen: Snapshot
  /** The last state in which the session was live. */
  lastLive: Snapshot
  /** Hints in flight to a worker. */
  hints: number
  /** Whether the next holder that polls must hand off its run. */
  handOff: boolean
  /** Whether the fair phase has begun: there are no more hints and faults, and only the sweeper wakes workers. */
  fair: boolean
  /** The latest time shown by the clock. */
  latest: number
  readonly trace: string[]
}

/** Returns the ports of a process. Each process uses one of the two connections. */
export const portsOf = (harness: Harness, name: string): SessionPorts =>
  name.length % 2 === 0 ? harness.stores : harness.stores.peer

/** Whether the sweeper would find this session now. */
export function isDue(harness: Harness): boolean {
  const due = harness.seen.header?.due
  return due !== undefined && due <= harness.stores.clock.now()
}

/** Whether the lease is held. While it is held, a worker does nothing. */
export const isLeased = ({ seen: { header }, stores: { clock } }: Harness): boolean =>
  header !== undefined && !isFree(header, clock.now())

/** Whether the session has work now or will have work soon. */
export const hasWork = (header: SessionHeader): boolean =>
  header.activeRun === undefined
    ? header.queued > 0
    : !header.paused || header.waiting === 0 || header.cancel !== undefined

/** Code of a refusal. Undefined for any other error. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Awaits a write. Ignores a refusal, and rejects if the store fails. */
export async function unlessRefused(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || code === 'storage_failed') throw error
  }
}
