import type { HistoryWriter } from './history-writer.ts'

/** A new index that is being filled, and will replace the current one. */
export interface HistoryBuild extends Pick<HistoryWriter, 'write'> {
  /**
   * Switches searches to the new index, once everything written to it can be found. The old index is removed later. If the new
   * index takes too long, rejects with `search_unavailable` and changes nothing.
   */
  publish(): Promise<void>
  /** Discards the new index; searches keep using the current one. */
  abandon(): Promise<void>
}

/** Rebuilds a history index while it is searched and written. */
export interface HistoryBuilder {
  /**
   * Creates an empty index. When this resolves, all writers send their changes to both indexes. So a change is not missed if
   * its row was read before the change. Removes the remains of an unfinished earlier build.
   */
  begin(): Promise<HistoryBuild>
}
