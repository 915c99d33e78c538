import type { HistoryWriter } from './history-writer.ts'

/** A new index that is being filled, and will replace the current one. */
export interface HistoryBuild extends Pick<HistoryWriter, 'write'> {
  /**
   * Waits until everything written to the new index can be found, then switches searches to it. The old index is removed later.
   * If the new index takes too long, rejects with `search_unavailable` and changes nothing.
   */
  publish(): Promise<void>
  /** Discards the new index; searches keep using the current one. */
  abandon(): Promise<void>
}

/** Rebuilds a history index while it is searched and written. */
export interface HistoryBuilder {
  /**
   * Creates an empty index. When this resolves, all writers send their changes to both indexes. So no change is missed, even if a
   * row changes after it was read for the new index. Removes the remains of an unfinished earlier build.
   */
  begin(): Promise<HistoryBuild>
}
