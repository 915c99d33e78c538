import type { Agent } from '../../domain/agent.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { HistoryEntries, HistoryQuery } from '../../domain/history.ts'
import type { ToolMessage } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { Lease, Session, SessionHeader, SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Models } from '../../ports/model.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { RunLog } from '../../ports/run-log.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { ToolRegistry } from '../../ports/tool.ts'

/** What executing a run needs. */
export interface LoopDependencies {
  readonly lease: RunLease
  readonly log: RunLog
  readonly reader: LogReader
  readonly sessions: SessionStore
  readonly outputs: OutputStore
  readonly index: HistoryIndex
  readonly models: Models
  readonly tools: ToolRegistry
  readonly agents: ReadonlyMap<string, Agent>
  readonly clock: Clock
  readonly logger: Logger
  search(query: HistoryQuery): Promise<HistoryEntries>
  emit(key: SessionKey, event: RunEvent): void
}

/** A run whose lease this process holds, as it was found. */
export interface HeldRun {
  readonly lease: Lease
  readonly run: Run
  readonly session: Session
  /** `started`: from the queue; `resumed`: after a pause, a hand-over or a crash. */
  readonly origin: 'started' | 'resumed'
  /** Set when resumed: the header and the run's open calls, read after the claim. */
  readonly found?: { readonly header: SessionHeader; readonly open: readonly ToolMessage[] }
}
