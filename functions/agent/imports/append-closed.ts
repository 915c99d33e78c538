import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Appended, AppendOptions } from '../../domain/messages/imported.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session } from '../../domain/session.ts'
import { lengthOf } from '../../log/import/message-length.ts'
import { createClosedTurns, isInput, rowsOf, type PlacedMessage } from './closed-turns.ts'
import { createSearchedMarks } from './searched-marks.ts'
import { resumeAt, newImport, writeStep, type AppendDependencies } from './import-step.ts'

/*
 * How an import is written to the log (docs/design/decisions/0024-import-in-atomic-steps.md):
 *
 * 1. `appendClosed`, here, reads the messages, skips those that an earlier call has stored, and splits the others into
 *    steps. `closed-turns.ts` decides which messages form one run. `searched-marks.ts` marks messages that follow a
 *    search of the history.
 * 2. `writeStep` in `import-step.ts` builds the rows of a step and stores them in one write. It uses
 *    - `cut-rounds.ts` for the rows: if another write has split a round, the rest of the round becomes a separate round,
 *    - `import-runs.ts` for the runs of these rows, old and new,
 *    - `import-rounds.ts` for the number of each round in its run,
 *    - `stored-calls.ts` for the rows of calls whose results or members are in this step,
 *    - `closed-contents.ts` for the contents: images, files and large outputs are stored before the rows that name them.
 * 3. State for the next step is in the `Import` of `import-step.ts`; state for the next call is in `ImportProgress`.
 */

/** Maximum number of messages and runs in a step. A step fits into one DynamoDB transaction, with a margin. */
const MAX_ROWS = 80
/**
 * Limits of a step, in characters. Beyond `MAX_STEP_CHARACTERS`, a step ends after its last complete round. A round is split only
 * beyond `MAX_ROUND_CHARACTERS`.
 */
const MAX_STEP_CHARACTERS = 1_000_000
const MAX_ROUND_CHARACTERS = 16_000_000

/**
 * Appends closed messages in steps; each step is one atomic write. If the import stops early, the log holds the first messages.
 * If the import has a name, the number of stored messages is recorded as well, so that a repeated import skips them. Rejects with
 * `session_busy` when the session has a run or another import.
 */
export async function appendClosed(
  dependencies: AppendDependencies,
  session: Session,
  messages: AsyncIterable<ClosedMessage> | Iterable<ClosedMessage>,
  { name, from = 0, source, isCopy, begin }: AppendOptions,
): Promise<Appended> {
  const { imports } = dependencies
  const key = keyOf(session)
  let progress = name && (await imports.progress(key, name))
  const stored = progress?.messages ?? 0
  if (from > stored)
    throw new TooltrailError(
      'import_gap',
      `\`from\` is ${from}, but only ${stored} messages of this source are stored: it must be at most ${stored}`,
    )
  const [turns, marked] = [createClosedTurns(), createSearchedMarks()]
  const writer = newImport(dependencies, session, { source, isCopy, progress, begin })
  const done: { first?: string; last?: string; messages: number } = { messages: 0 }
  let waiting: PlacedMessage[] = []
  let characters = 0
  let isRead = false

  const flush = async (count: number): Promise<void> => {
    if (count === 0) return
    const options = { name, before: progress, isLast: isRead && count === waiting.length }
    const written = await writeStep(writer, waiting.slice(0, count), options)
    waiting = waiting.slice(written.taken)
    characters = waiting.reduce((sum, { message }) => sum + lengthOf(message), 0)
    progress = name === undefined ? undefined : written.progress
    done.messages += written.taken
    done.first ??= written.firstOfStep
    done.last = written.progress.last
    // An embedded store writes synchronously, so this loop must yield to other work.
    await yieldToEventLoop()
  }

  let place = from
  let skipped: PlacedMessage | undefined
  for await (const message of messages) {
    const placed = marked(turns.place(message))
    if (++place <= stored) {
      skipped = placed
      writer.cut.stored(message)
      writer.calls.stored(message)
      continue
    }
    if (place === stored + 1 && progress !== undefined && (skipped !== undefined || !isInput(message)))
      await resumeAt(writer, skipped?.turn ?? placed.turn, progress)
    if (rowsOfAll(waiting) >= MAX_ROWS || characters > MAX_STEP_CHARACTERS) await flush(wholeRounds(waiting))
    while (mustFlush(waiting, characters, placed)) await flush(waiting.length)
    waiting.push(placed)
    characters += lengthOf(message)
  }
  isRead = true
  while (waiting.length > 0)
    await flush(rowsOfAll(waiting) > MAX_ROWS ? wholeRounds(waiting) || waiting.length : waiting.length)
  // No message was new.
  await writer.begin?.()
  return { ...done, ...definedFields({ progress }) }
}

/**
 * Whether the waiting messages must be stored before the next message is added to them. A step never contains both a
 * run and the runs that it supersedes.
 */
const mustFlush = (waiting: readonly PlacedMessage[], characters: number, { replaces }: PlacedMessage): boolean =>
  waiting.length > 0 && (replaces !== undefined || rowsOfAll(waiting) >= MAX_ROWS || characters > MAX_ROUND_CHARACTERS)

/** Returns the number of rows for these messages: their own rows, and one for the run of each turn. */
const rowsOfAll = (waiting: readonly PlacedMessage[]): number =>
  waiting.reduce((sum, { message }) => sum + rowsOf(message), new Set(waiting.map(({ turn }) => turn)).size)

/** Returns the number of messages before the first round that lacks results. */
function wholeRounds(waiting: readonly PlacedMessage[]): number {
  const open = new Map<ClosedMessage, number>()
  let whole = 0
  for (const [place, { message }] of waiting.entries()) {
    if (message.role === 'assistant') open.set(message, message.toolCalls.length)
    const of = message.role === 'tool' ? message.of : message
    const left = (open.get(of) ?? 0) - (message.role === 'tool' ? 1 : 0)
    if (left > 0) open.set(of, left)
    else open.delete(of)
    if (open.size === 0) whole = place + 1
  }
  return whole
}
