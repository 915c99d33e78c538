import type { HistoryWriter } from './history-writer.ts'

/** A new index on its way to take the place of the one that is searched. */
export interface HistoryBuild extends Pick<HistoryWriter, 'write'> {
  /**
   * Searches read the new index from one moment to the next, once everything written to it can be found; later the old one is
   * removed. Rejects with `search_unavailable`, and changes nothing, when that does not come about in time.
   */
  publish(): Promise<void>
  /** Gives the new index up; searches go on as before. */
  abandon(): Promise<void>
}

/** Builds a history index anew, while it is searched and written. */
export interface HistoryBuilder {
  /**
   * Makes an empty index. When this resolves, every writer's changes go to it as well, so that nothing is missed that changes
   * after it was read. What an earlier build left unfinished is removed.
   */
  begin(): Promise<HistoryBuild>
}
