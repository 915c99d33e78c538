import { steadyTime } from '../../../domain/time/steady-time.ts'
import type { CallProgress, RunEvent } from '../../../domain/events.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { callProgress } from '../../../log/run-events.ts'
import type { Clock } from '../../../ports/clock.ts'

/** Minimum interval between two progress events of a call. A tool may report progress at shorter intervals. */
const BETWEEN_MS = 1_000
/** Limit of the progress text, in characters. */
const MAX_TEXT_CHARACTERS = 300

/**
 * Emits the progress of a call, at most once per `BETWEEN_MS`. Ignores a progress value that is not a finite number.
 */
export function throttledProgress(
  { clock, emit }: { readonly clock: Clock; emit(event: RunEvent): void },
  row: ToolMessage,
): (howFar: CallProgress) => void {
  const now = steadyTime(() => clock.now())
  let next = 0
  return ({ progress, total, text }) => {
    if (!Number.isFinite(progress) || now() < next) return
    next = now() + BETWEEN_MS
    emit(
      callProgress(row, {
        progress,
        ...(Number.isFinite(total) ? { total: total as number } : {}),
        ...(typeof text === 'string' && text !== '' ? { text: text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed() } : {}),
      }),
    )
  }
}
