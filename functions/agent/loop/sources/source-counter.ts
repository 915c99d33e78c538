import type { AssistantMessage } from '../../../domain/messages/message.ts'
import type { NumberedSources } from '../../../domain/messages/source.ts'
import { highestOf } from '../../../log/sources.ts'
import type { Thread } from '../thread.ts'

/** The counter of a session's source numbers, shared by all threads of its run. */
export interface SourceCounter {
  /** The highest number that a completion has recorded; undefined until it is first read. */
  recorded: number | undefined
  /** Numbers that requests have used and that no completion has recorded yet. */
  readonly given: Map<Thread, readonly NumberedSources[]>
}

export const createSourceCounter = (): SourceCounter => ({ recorded: undefined, given: new Map() })

/** The numbers that a thread's next completion must record. */
export function numbersToRecord(sources: SourceCounter, thread: Thread): Pick<AssistantMessage, 'numbered'> {
  const given = sources.given.get(thread) ?? []
  return given.length === 0 ? {} : { numbered: given }
}

/** Marks the thread's numbers as recorded, after their completion is stored. */
export function numbersRecorded(sources: SourceCounter, thread: Thread): void {
  const given = sources.given.get(thread)
  if (given === undefined) return
  sources.recorded = Math.max(sources.recorded ?? 0, highestOf(given))
  sources.given.delete(thread)
}
