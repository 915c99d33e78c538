import type { Clock } from '../../functions/ports/clock.ts'
import type { KeyStore } from '../../functions/ports/key-store.ts'
import type { LogImport } from '../../functions/ports/log-import.ts'
import type { LogReader } from '../../functions/ports/log-reader.ts'
import type { MessageFeedback } from '../../functions/ports/message-feedback.ts'
import type { Outbox } from '../../functions/ports/outbox.ts'
import type { Received } from '../../functions/ports/received.ts'
import type { SessionNames } from '../../functions/ports/session-names.ts'
import type { RunInbox } from '../../functions/ports/run-inbox.ts'
import type { RunLease } from '../../functions/ports/run-lease.ts'
import type { RunLog } from '../../functions/ports/run-log.ts'
import type { SessionDeletion } from '../../functions/ports/session-deletion.ts'
import type { SessionJanitor } from '../../functions/ports/session-janitor.ts'
import type { SessionStore } from '../../functions/ports/session-store.ts'
import type { UsageLedger } from '../../functions/ports/usage-ledger.ts'

/** A clock that advances only when a test advances it. A sleep does not advance it. */
export interface ManualClock extends Clock {
  set(milliseconds: number): void
  advance(milliseconds: number): void
}

/** The ports of one process to the session store. */
export interface SessionPorts {
  readonly sessions: SessionStore
  readonly inbox: RunInbox
  readonly lease: RunLease
  readonly log: RunLog
  readonly imports: LogImport
  readonly reader: LogReader
  readonly janitor: SessionJanitor
  readonly deletion: SessionDeletion
  readonly outbox: Outbox
  readonly feedback: MessageFeedback
  readonly received: Received
  readonly names: SessionNames
  readonly keys: KeyStore
  readonly usage: UsageLedger
}

/** Ports of an engine for the suites, with a clock that only the suites advance. */
export interface Stores extends SessionPorts {
  readonly clock: ManualClock
  /** The ports of another process on the same data. */
  readonly peer: SessionPorts
  /**
   * Makes every later call of these ports fail in the store, as with a closed file or a dead endpoint. Other ports
   * continue to work.
   */
  breakDown(): Promise<void>
  close(): Promise<void>
}

/** Kind of a request, reported by engines that send each write as a request. */
export type RequestKind = 'read' | 'write'

export interface Opening {
  /** Executes each request of a port call. Another process's write can land between two requests, so schedules interrupt here. */
  readonly between?: <T>(request: () => Promise<T>, kind?: RequestKind) => Promise<T>
}

/** An engine under test. Each suite opens it once. The engine may contain data, because suites use separate tenants. */
export interface Engine {
  readonly name: string
  /** Whether a request takes milliseconds. If so, suites try only some of their cases, unless `WHOLE=1` is set. */
  readonly isSlow?: true
  open(opening?: Opening): Promise<Stores>
}

/** A clock that shows `start` (milliseconds since 1970) until it is moved. */
export function createManualClock(start: number = Date.UTC(2026, 0, 5, 9)): ManualClock {
  let time = start
  return {
    now: () => time,
    set: (milliseconds) => void (time = milliseconds),
    advance: (milliseconds) => void (time += milliseconds),
    sleep: async (_milliseconds, signal) => {
      signal?.throwIfAborted()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}
