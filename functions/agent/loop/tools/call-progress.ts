import { steadyTime } from '../../../domain/time/steady-time.ts'
import type { CallProgress } from '../../../domain/events.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { callProgress } from '../../../log/run-events.ts'
import type { RunState } from '../run-state.ts'

/** Milliseconds between two that followers are told of: tools may say it as often as they like. */
const BETWEEN_MS = 1_000
/** Characters of what a tool says beside its numbers. */
const MAX_TEXT_CHARACTERS = 300

/** Tells followers how far a call is, some times. What is no number is not told. */
export function throttledProgress(
  { ports: { clock }, emit }: Pick<RunState, 'emit'> & { readonly ports: Pick<RunState['ports'], 'clock'> },
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
