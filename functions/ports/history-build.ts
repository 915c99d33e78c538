import type { HistoryWriter } from './history-writer.ts'

/** A new index that is being filled and will replace the one that is searched. */
export interface HistoryBuild extends Pick<HistoryWriter, 'write'> {
  /**
   * Once everything written to the new index can be found, searches switch to it at once; the old one is removed later.
   * Rejects with `search_unavailable`, and changes nothing, when that takes too long.
   */
  publish(): Promise<void>
  /** Discards the new index; searches go on as before. */
  abandon(): Promise<void>
}

/** Rebuilds a history index while it is searched and written. */
export interface HistoryBuilder {
  /**
   * Makes an empty index. When this resolves, every writer's changes go to it as well, so no change that comes after
   * its row was read is missed. Removes what an unfinished earlier build left.
   */
  begin(): Promise<HistoryBuild>
}
