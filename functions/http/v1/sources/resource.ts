import type { Citations } from '../../../domain/context.ts'
import type { Message } from '../../../domain/messages/message.ts'
import { isInRanges } from '../../../domain/messages/number-ranges.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { findNumbers } from '../../../history/source-numbers.ts'
import { hasSources } from '../../../log/sources.ts'
import type { SourceNumbers } from '../../../log/sources.ts'
import type { LogReader } from '../../../ports/log-reader.ts'

/** The state of sources that is stored outside of their results. */
export interface SourceState {
  readonly numbers: SourceNumbers
  readonly citations: Citations | undefined
}

/**
 * Reads the numbers of these messages' sources, and the session's citations. Undefined if the messages have no sources.
 */
export async function readSourceState(
  reader: LogReader,
  key: SessionKey,
  messages: readonly Message[],
): Promise<SourceState | undefined> {
  if (!messages.some(hasSources)) return undefined
  const { citations } = await reader.context(key)
  return { numbers: await findNumbers(reader, key, messages), citations }
}

/** Whether a source was cited; null while that is undecided. */
export function citedOf(citations: Citations | undefined, number: number): boolean | null {
  if (citations === undefined) return null
  if (isInRanges(citations.cited, number)) return true
  return isInRanges(citations.uncited, number) ? false : null
}
