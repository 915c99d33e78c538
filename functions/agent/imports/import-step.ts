import { findOriginal } from './imported-replacements.ts'
import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { DEFAULT_POLICIES, type Policies } from '../../domain/agent.ts'
import type { ClosedMessage, ClosedNumbers } from '../../domain/messages/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { nextIds } from '../../domain/ids.ts'
import {
  rangesOf,
  type AppendOptions,
  type ImportName,
  type ImportProgress,
  type ImportStep,
} from '../../domain/messages/imported.ts'
import type { Message } from '../../domain/messages/message.ts'
import { keyOf, type Session, type SessionHeader, type SessionKey } from '../../domain/session.ts'
import type { LogImport } from '../../ports/log-import.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { storedMessage, type ContentDependencies } from './closed-contents.ts'
import type { PlacedMessage } from './closed-turns.ts'
import { createLoops } from '../../log/import/newest.ts'
import { programOf } from '../../log/imported-place.ts'
import { createCutRounds, type CutRounds } from './cut-rounds.ts'
import { createStepRounds, type BegunTurn, type StepRounds } from './import-rounds.ts'
import { countRounds, lastIdOf, runsOf, type Touched } from './import-runs.ts'
import { createStoredCalls, type StoredCalls } from './stored-calls.ts'
import type { NumberedSources } from '../../domain/messages/source.ts'
import { highestOf } from '../../log/sources.ts'

export interface AppendDependencies extends ContentDependencies {
  readonly imports: LogImport
  readonly lease: Pick<RunLease, 'readHeader'>
  readonly reader: LogReader
  readonly agents: ReadonlyMap<string, { readonly policies: Policies }>
}

/** The state of one import in progress. */
export interface Import {
  readonly dependencies: AppendDependencies
  readonly session: Session
  readonly source: string | undefined
  readonly isCopy: boolean | undefined
  readonly calls: StoredCalls
  readonly cut: CutRounds
  /** The current turn and the last stored message; undefined if nothing is stored yet. */
  at?: { readonly begun: BegunTurn; readonly last: string }
  /** The import's first message after the last write by another writer; undefined if nothing is stored yet. */
  since: string | undefined
  /** The option `begin`. Undefined after it was called. */
  begin: AppendOptions['begin']
}

/**
 * Maximum number of attempts to store one step. An attempt fails only if another writer has changed the session during the
 * attempt.
 */
const ATTEMPTS = 5
/** Maximum length, in characters, of arguments that are quick to parse. Longer arguments take milliseconds. */
const LONG = 64 * 1024
/**
 * Maximum number of messages, runs and source numbers in a step. A DynamoDB transaction has at most 100 items. The other items
 * are the session's, its entries in lists, and the import's progress.
 */
const MAX_ROWS = 85

/** Creates the state of an import. `progress`: the progress of earlier calls. */
export const newImport = (
  dependencies: AppendDependencies,
  session: Session,
  {
    source,
    isCopy,
    progress,
    begin,
  }: Pick<Import, 'source' | 'isCopy'> & { progress: ImportProgress | undefined; begin: AppendOptions['begin'] },
): Import => ({
  dependencies,
  session,
  source,
  isCopy,
  calls: createStoredCalls({ reader: dependencies.reader, key: keyOf(session), ranges: rangesOf(progress) }),
  cut: createCutRounds(),
  since: rangesOf(progress).at(-1)?.first,
  begin,
})

/** Resumes the import after the last stored message. */
export async function resumeAt(one: Import, turn: number, { last, run: id }: ImportProgress): Promise<void> {
  const run = await one.dependencies.reader.run(keyOf(one.session), id)
  one.at = { last, begun: { turn, holds: 'earlier', moved: createLoops(), ...(run && { run }) } }
}

interface StepOptions {
  readonly name: ImportName | undefined
  /** The progress before this step. */
  readonly before: ImportProgress | undefined
  /** Whether this step contains the last messages of the import. */
  readonly isLast: boolean
}

/**
 * Assigns ids to messages and runs and stores them in one write. If another write has split a round, fewer messages may
 * fit. Returns how many were stored. Rejects with `session_busy`.
 */
export async function writeStep(
  one: Import,
  batch: readonly PlacedMessage[],
  { name, before, isLast }: StepOptions,
): Promise<{ readonly progress: ImportProgress; readonly firstOfStep: string; readonly taken: number }> {
  const { dependencies, session, calls, cut } = one
  const runsAtMost = new Set(batch.map(({ turn }) => turn)).size
  const { imports, clock } = dependencies
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = await headerOf(dependencies, session)
    if (seen.lease !== undefined || seen.activeRun !== undefined || seen.queued > 0) break
    const now = clock.now()
    const part = cut.step(batch, isBehindOthers(one, seen), MAX_ROWS - runsAtMost)
    const { rows, taken } = part
    const begun = begunAs(one, seen)
    const rounds = createStepRounds(begun, calls.rounds)
    const runs = runsOf(one, seen, begun, rows, now)
    const messages = await messagesOf(one, seen, rows, { runs, rounds, now })
    const touched = countRounds(runs, messages)
    await one.begin?.()
    one.begin = undefined
    const isApart = before !== undefined && before.last !== seen.head
    const isPartOfCopy = one.isCopy === true && !(isLast && taken === batch.length)
    const replaces = await replacementOf(one, rows[0], touched)
    const named = { ...(name && { name }), ...(before && { before }), isApart, taken, isPartOfCopy, ...replaces }
    const after = await imports.append(seen, { messages, runs: [...touched.values()], ...named })
    if (after !== undefined) {
      const turn = rows.at(-1)?.turn ?? 0
      one.since = sinceWith(one, seen, messages[0]?.id)
      one.at = { last: after.last, begun: { turn, ...touched.get(turn), ...rounds.moved() } }
      cut.wrote(part, batch)
      return { progress: after, firstOfStep: messages[0]?.id ?? '', taken }
    }
    const found = name && (await imports.progress(keyOf(session), name))
    if (found?.messages !== before?.messages) break
  }
  const text = `session ${session.session} is busy: a run has not ended, or another import is in progress; retry later`
  throw new TooltrailError('session_busy', text, { retryable: true })
}

/** Returns the replacement that the first run of a step makes. */
async function replacementOf(
  { dependencies, session }: Import,
  first: PlacedMessage | undefined,
  touched: Touched,
): Promise<{ readonly replaces?: NonNullable<ImportStep['replaces']> }> {
  const { run, isNew = false } = (first && touched.get(first.turn)) ?? {}
  if (first?.replaces === undefined || run === undefined || !isNew) return {}
  const from = await findOriginal(dependencies.reader, keyOf(session), first.replaces)
  return from === undefined ? {} : { replaces: { by: run.id, from } }
}

const isBehindOthers = ({ at }: Import, { head }: SessionHeader): boolean => at !== undefined && head !== at.last

/** Returns the value of the import's `since` after a step whose first message is `first`. */
const sinceWith = (one: Import, seen: SessionHeader, first: string | undefined): string | undefined =>
  isBehindOthers(one, seen) ? first : (one.since ?? first)

/** Returns the turn that the step continues. Omits the turn's run if another write has followed, because runs must not overlap. */
function begunAs(one: Import, seen: SessionHeader): BegunTurn | undefined {
  if (one.at === undefined || !isBehindOthers(one, seen)) return one.at?.begun
  return { turn: one.at.begun.turn, holds: 'rest', moved: createLoops() }
}

/** Whether the arguments of the call take milliseconds to parse. `message` is the call's result. */
const isLong = (message: ClosedMessage): boolean =>
  message.role === 'tool' && (message.of.toolCalls[message.sequence]?.arguments.length ?? 0) > LONG

async function headerOf({ lease }: Pick<AppendDependencies, 'lease'>, session: Session): Promise<SessionHeader> {
  const header = await lease.readHeader(keyOf(session))
  if (header?.status !== 'live') throw new TooltrailError('session_not_found', `there is no session ${session.session}`)
  return header
}

async function messagesOf(
  one: Import,
  seen: SessionHeader,
  batch: readonly PlacedMessage[],
  { runs, rounds, now }: { readonly runs: Touched; readonly rounds: StepRounds; readonly now: number },
): Promise<Message[]> {
  const { dependencies, session, calls } = one
  const policies = dependencies.agents.get(session.agent)?.policies ?? DEFAULT_POLICIES
  const messageIds = nextIds(lastIdOf(runs, seen.head), now, batch.length)
  const since = sinceWith(one, seen, messageIds[0]) ?? ''
  const keptOf = createKeptNumbers(dependencies.reader, keyOf(session), { calls, since })
  const messages: Message[] = []
  for (const [place, placed] of batch.entries()) {
    const { message, turn, searched } = placed
    const id = messageIds[place] ?? ''
    calls.keep(message, id)
    const runId = runs.get(turn)?.run.id ?? ''
    const own = {
      ...{ id, runId, round: await rounds.of(placed), recordedAt: now, searched },
      ...{ agent: session.agent, program: programOf(session.metadata) },
    }
    const stored = await storedMessage({ dependencies, key: keyOf(session), policies }, message, {
      ...own,
      call: message.role === 'tool' ? await calls.callOf(message) : undefined,
      parentMessageId: message.parent && (await calls.parentIdOf(message.parent)),
      numbered: message.role === 'assistant' && message.numbered ? await keptOf(message.numbered) : undefined,
    })
    messages.push(stored)
    if (isLong(message)) await yieldToEventLoop()
  }
  return messages
}

/**
 * Returns a function that converts the source numbers of an imported completion to their stored form. The function returns
 * undefined if a number is taken, a result is missing, or another write may have assigned the number. A later request then
 * assigns the missing numbers. The function is created for one step, after the session's header was read. If another writer
 * assigns numbers after that read, the step is not stored. `since`: the import's first message after the last write by another
 * writer.
 */
function createKeptNumbers(
  reader: Pick<LogReader, 'sources'>,
  key: SessionKey,
  { calls, since }: { readonly calls: Pick<StoredCalls, 'resultIdOf'>; readonly since: string },
) {
  const kept: NumberedSources[] = []
  return async ({ from, results }: ClosedNumbers): Promise<readonly NumberedSources[] | undefined> => {
    const numbered: NumberedSources[] = []
    let next = from
    for (const result of results) {
      const message = await calls.resultIdOf(result)
      if (message === undefined || message < since) return undefined
      const { sources: count = 0 } = result
      numbered.push({ message, from: next, count })
      next += count
    }
    const { numbered: stored } = await reader.sources(key, { order: 'ascending', after: from - 1, limit: 1 })
    const isTaken = (one: NumberedSources): boolean => one.from < next && highestOf([one]) >= from
    if ([...kept, ...stored].some(isTaken)) return undefined
    kept.push(...numbered)
    return numbered
  }
}
