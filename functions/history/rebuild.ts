import { TooltrailError } from '../domain/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { HistoryBuild, HistoryBuilder } from '../ports/history-build.ts'
import type { MessageRow, MessageRows } from '../ports/message-rows.ts'
import { indexMessages, type IndexDependencies } from './index-messages.ts'

interface Dependencies extends Omit<IndexDependencies, 'writer'> {
  readonly rows: MessageRows
  readonly builder: HistoryBuilder
  readonly clock: Clock
}

/** Number of segments of the store. All segments are read concurrently. */
const SEGMENTS = 4
/** Attempts for a failed page, in addition to the writer's own retries. */
const ATTEMPTS = 5
const WAIT_MS = 2_000

/**
 * Rebuilds the history index from the rows, then replaces the old index. During the rebuild, the old index is still searched and
 * written. Returns how many messages were read. If the rebuild fails, the old index is unchanged.
 */
export async function rebuildIndex(dependencies: Dependencies): Promise<{ messages: number }> {
  const build = await dependencies.builder.begin()
  const failing = new AbortController()
  try {
    const segments = Array.from({ length: SEGMENTS }, (_, segment) =>
      indexSegment(dependencies, build, segment, failing.signal).catch((error: unknown) => {
        failing.abort()
        throw error
      }),
    )
    // Waits until every segment has ended, even if one has failed. A write after `abandon` would create the new index again.
    await Promise.allSettled(segments)
    const counts = await Promise.all(segments)
    await build.publish()
    return { messages: counts.reduce((sum, count) => sum + count, 0) }
  } catch (error) {
    await build.abandon()
    throw error
  }
}

async function indexSegment(
  dependencies: Dependencies,
  build: HistoryBuild,
  segment: number,
  failing: AbortSignal,
): Promise<number> {
  let messages = 0
  for await (const page of dependencies.rows.scan(segment, SEGMENTS)) {
    if (failing.aborted) return messages
    await indexPage({ ...dependencies, writer: build }, dependencies.clock, page)
    messages += page.length
  }
  return messages
}

async function indexPage(dependencies: IndexDependencies, clock: Clock, page: readonly MessageRow[]): Promise<void> {
  let open = page
  for (let attempt = 1; ; attempt++) {
    const failures = await indexMessages(
      dependencies,
      open.map((stored) => ({ stored })),
    )
    const error = failures.find((failure) => failure !== undefined)?.error
    if (error === undefined) return
    if (attempt >= ATTEMPTS)
      throw new TooltrailError('search_unavailable', `the index cannot be built: ${error}`, { retryable: true })
    open = open.filter((_, place) => failures[place] !== undefined)
    await clock.sleep(WAIT_MS * attempt)
  }
}
