import { LeaseLost } from '../../../domain/errors.ts'
import { MAX_NUMBERED_RESULTS } from '../../../domain/messages/source.ts'
import type { NumberedSources } from '../../../domain/messages/source.ts'
import { hasSources, highestOf, numberSources, recordedNumbers } from '../../../log/sources.ts'
import type { SourceNumbers } from '../../../log/sources.ts'
import { warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import type { Thread } from '../thread.ts'

/**
 * Assigns numbers to sources of the thread's results that have none yet, in the order of the log. All requests of a
 * thread use the same numbers until its next completion records them. If that completion is never stored, the next
 * holder assigns the same numbers again. One completion numbers a limited number of results. The others are sent without
 * their sources, until a later request numbers them.
 */
export async function giveNumbers(state: RunState, thread: Thread): Promise<SourceNumbers> {
  const { sources } = state
  const before = thread.messages.some(hasSources) ? (sources.given.get(thread) ?? []) : []
  const known = new Map([...recordedNumbers(thread.messages), ...numbersOf(before)])
  if (!thread.messages.some((message) => hasSources(message) && !known.has(message.id))) return numbersOf(before)
  const recorded = await recordedBefore(state, thread)
  if (recorded === undefined) return numbersOf(before)
  // No `await` from here on, so that two threads never take the same number.
  const highest = Math.max(recorded, ...[...sources.given.values()].map(highestOf))
  const given = [...before, ...numberSources(thread.messages, known, highest, MAX_NUMBERED_RESULTS - before.length)]
  sources.given.set(thread, given)
  return numbersOf(given)
}

const numbersOf = (given: readonly NumberedSources[]): SourceNumbers =>
  new Map(given.map(({ message, from }) => [message, from]))

/**
 * Reads the highest recorded number. Returns undefined if the read fails: new results are sent without sources, and followers
 * get a warning.
 */
async function recordedBefore(state: RunState, thread: Thread): Promise<number | undefined> {
  const { sources, reads, writer } = state
  try {
    const last = sources.recorded ?? (await readHighest())
    return (sources.recorded = Math.max(last, sources.recorded ?? 0))
  } catch (error) {
    if (error instanceof LeaseLost || writer.signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    state.ports.logger.warn('the numbers of sources cannot be read', { session: writer.key.session, error: reason })
    const detail = 'the sources of earlier results cannot be read: new results go without theirs'
    await recordDecision(state, { notices: [warning(thread, 'sources_unavailable', detail)] })
    return undefined
  }

  async function readHighest(): Promise<number> {
    const { numbered } = await reads.reader.sources(writer.key, { order: 'descending', limit: 1 })
    return highestOf(numbered)
  }
}
