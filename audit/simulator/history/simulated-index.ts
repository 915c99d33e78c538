import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'

/** The history index of a simulation. Implementations differ in the way in which they update it from the log. */
export interface SimulatedIndex {
  /** Index that the programs search. */
  readonly searched: HistoryIndex
  /** Called after each request, directly after its execution. */
  observe(call: string, session: string): void
  /** Whether the index contains everything that was written to the log so far. */
  isCaughtUp(): boolean
  /** Returns the current documents of a session. */
  documents(key: SessionKey): Promise<readonly HistoryDocument[]>
  /** Returns how the rows of the index contradict each other. Undefined if they do not. */
  fault(): string | undefined
}
