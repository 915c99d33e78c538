import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'

/** The history index of a simulation, for any way of updating it from the log. */
export interface SimulatedIndex {
  /** Index that the programs search. */
  readonly searched: HistoryIndex
  /** Called after every request, immediately after its execution. */
  observe(call: string, session: string): void
  /** Whether all earlier writes have been processed. */
  isCaughtUp(): boolean
  /** Returns the current documents of a session. */
  documents(key: SessionKey): Promise<readonly HistoryDocument[]>
  /** Returns the reason if the rows of the index contradict each other. Otherwise undefined. */
  fault(): string | undefined
}
