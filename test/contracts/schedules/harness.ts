import { isFree } from '../../../functions/domain/session.ts'
import type { SessionHeader, SessionKey } from '../../../functions/domain/session.ts'
import type { SessionPorts, Stores } from '../stores.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Processes } from './processes.ts'

/**
 * Kind of a call of the scripted model: for a tool, a repeatable tool, a tool that the client executes, or one that
 * needs approval.
 */
export type CallKind = 'tool' | 'idempotent' | 'client' | 'approval'

/** A call, or what is given to a member of the team. */
export type PlannedCall = CallKind | { readonly team: Plan }

/** The model's plan for an input or a task. It travels in the text, so that any holder can continue with it. */
export interface Plan {
  readonly rounds: readonly (readonly PlannedCall[])[]
  readonly fails: boolean
}

/** Something that must never be. */
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
  /** The order of acknowledgement: each began after the response to the one before. */
  readonly sent: { readonly input: number; readonly after: readonly string[] }[]
  /** Runs whose cancel was acknowledged. */
  readonly cancelled: Set<string>
  /** How often a call's tool was started, by message id. */
  readonly starts: Map<string, number>
  /** The highest generation whose holder has read the log. */
  readGeneration: number
  /** A crash, an expiry, a late or a lost write has happened. */
  disturbed: boolean
  /**
   * A round may land although its holder got an error that says it failed for good. The error that ends the run has the
   * same number.
   */
  readonly disowned?: boolean
  /** A deletion was acknowledged. */
  deleted: boolean
}

/** One session, the processes around it, and what is known of them. */
export interface Harness {
  readonly key: SessionKey
  readonly stores: Stores
  readonly processes: Processes
  readonly ghosts: Ghosts
  /** The state after the last step. */
  seen: Snapshot
  /** The last state in which the session was live. */
  lastLive: Snapshot
  /** Hints that are on their way to some worker. */
  hints: number
  /** The next holder that polls hands over. */
  handOff: boolean
  /** Set when hints and adversaries are gone, and only the sweeper wakes workers. */
  fair: boolean
  /** The latest time that the clock has shown. */
  latest: number
  readonly trace: string[]
}

/** Says who works where: processes are spread over both connections. */
export const portsOf = (harness: Harness, name: string): SessionPorts =>
  name.length % 2 === 0 ? harness.stores : harness.stores.peer

/** Whether the sweeper would find this session now. */
export function isDue(harness: Harness): boolean {
  const due = harness.seen.header?.due
  return due !== undefined && due <= harness.stores.clock.now()
}

/** A lease has not ended: who looks now finds nothing to do. */
export const isLeased = ({ seen: { header }, stores: { clock } }: Harness): boolean =>
  header !== undefined && !isFree(header, clock.now())

/** Whether the session has work now, or soon will have. */
export const hasWork = (header: SessionHeader): boolean =>
  header.activeRun === undefined
    ? header.queued > 0
    : !header.paused || header.waiting === 0 || header.cancel !== undefined

/** Code of a refusal. Undefined for any other error. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Awaits a write and ignores refusals; a store that fails rejects. */
export async function unlessRefused(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || code === 'storage_failed') throw error
  }
}
