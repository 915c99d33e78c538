import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { createSqliteHistoryIndex } from '../../../../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryMerger } from '../../../../functions/adapters/sqlite/history/documents/merger.ts'
import {
  createSqliteHistoryProjection,
  type HistoryProjection,
} from '../../../../functions/adapters/sqlite/history/documents/projection.ts'
import type { HistoryIndex } from '../../../../functions/ports/history-index.ts'

/** Creates a projection that indexes on this thread. */
export const projectionOn = (dependencies: Parameters<typeof createHistoryMerger>[0]): HistoryProjection =>
  createSqliteHistoryProjection({ ...dependencies, merger: createHistoryMerger(dependencies) })

/** Creates an index that uses the system clock. */
export const indexOn = (dependencies: Omit<Parameters<typeof createSqliteHistoryIndex>[0], 'clock'>): HistoryIndex =>
  createSqliteHistoryIndex({ ...dependencies, clock: createSystemClock() })
