import { isFree } from '../../../functions/domain/session.ts'
import type { SessionHeader, SessionKey } from '../../../functions/domain/session.ts'
import type { SessionPorts, Stores } from '../stores.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Processes } from './processes.ts'

/**
 * What a call of a scripted model is for: a tool, one that may run again, one that the client executes, one that needs
 * approval.
 */
export type CallKind = 'tool' | 'idempotent' | 'client' | 'approval'

/** A call, or what is given to a member of the team. */
export type PlannedCall = CallKind | { readonly team: Plan }

/** What the model will do with an input or a task; it travels in its text, so that any holder can go on with it. */
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

/** What was acknowledged to processes, and what they did outside the store. */
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
  /** Rounds may land of which their holder was told for good that they did not: the error that ends its run has the same number. */
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

/** Somebody should be working on this session, or soon will have to. */
export const hasWork = (header: SessionHeader): boolean =>
  header.activeRun === undefined
    ? header.queued > 0
    : !header.paused || header.waiting === 0 || header.cancel !== undefined

/** What a refusal says; undefined for anything that is not one. */
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
