import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'

/** The history index of a simulation, whatever keeps it in step with the log. */
export interface SimulatedIndex {
  /** Index that the programs search. */
  readonly searched: HistoryIndex
  /** Sees every request as soon as it was done. */
  observe(call: string, session: string): void
  /** Whether everything that was written before has been looked at. */
  isCaughtUp(): boolean
  /** Everything that it has of a session, now. */
  documents(key: SessionKey): Promise<readonly HistoryDocument[]>
  /** Why what it has does not fit together; undefined when it does. */
  fault(): string | undefined
}
