import { setImmediate as nextTurn } from 'node:timers/promises'
import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Policies } from '../../domain/agent.ts'
import type { ClosedMessage } from '../../domain/closed-message.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { nextIds } from '../../domain/ids.ts'
import type { ImportName, ImportProgress } from '../../domain/imported.ts'
import type { Message } from '../../domain/message.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionHeader } from '../../domain/session.ts'
import type { LogImport } from '../../ports/log-import.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { storedMessage, type ContentDependencies } from './closed-contents.ts'
import type { PlacedMessage } from './closed-turns.ts'
import { createStepRounds, type BegunTurn, type StepRounds } from './import-rounds.ts'
import { countRounds, lastIdOf, runsOf, type Touched } from './import-runs.ts'
import { createStoredCalls, type StoredCalls } from './stored-calls.ts'

export interface AppendDependencies extends ContentDependencies {
  readonly imports: LogImport
  readonly lease: Pick<RunLease, 'look'>
  readonly reader: LogReader
  readonly agents: ReadonlyMap<string, { readonly policies: Policies }>
}

/** One import on its way. */
export interface Import {
  readonly dependencies: AppendDependencies
  readonly session: Session
  readonly source: string | undefined
  readonly calls: StoredCalls
  /** Where it has come to: the turn, and the last message. Undefined: nothing stored yet. */
  at?: { readonly begun: BegunTurn; readonly last: string }
}

/** An attempt fails only if somebody else has written to this session meanwhile. */
const ATTEMPTS = 5
/** Characters of arguments. */
const LONG = 64 * 1024

/** Nothing stored yet. */
export const newImport = (dependencies: AppendDependencies, session: Session, source: string | undefined): Import => ({
  dependencies,
  session,
  source,
  calls: createStoredCalls(dependencies.reader, keyOf(session)),
})

/** Lets this turn go on behind what an earlier call stored last. */
export async function goOn(one: Import, turn: number, { last, run: id }: ImportProgress): Promise<void> {
  const run = await one.dependencies.reader.run(keyOf(one.session), id)
  one.at = { last, begun: { turn, holds: 'earlier', moved: new Map(), ...(run && { run }) } }
}

/** Gives messages and runs their ids, and stores them in one write. Rejects with `session_busy`. */
export async function writeStep(
  one: Import,
  batch: readonly PlacedMessage[],
  name: ImportName | undefined,
  before: ImportProgress | undefined,
): Promise<ImportProgress & { readonly firstOfStep: string }> {
  const { dependencies, session, calls } = one
  const { imports, clock } = dependencies
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = await headerOf(dependencies, session)
    if (seen.lease !== undefined || seen.activeRun !== undefined || seen.queued > 0) break
    const now = clock.now()
    const begun = begunAs(one, seen)
    const rounds = createStepRounds(begun, calls.rounds)
    const runs = runsOf(one, seen, begun, batch, now)
    const messages = await messagesOf(one, seen, batch, { runs, rounds, now })
    const touched = countRounds(runs, messages)
    const step = { messages, runs: [...touched.values()], ...(name && { name }), ...(before && { before }) }
    const after = await imports.append(seen, step)
    if (after !== undefined) {
      const turn = batch.at(-1)?.turn ?? 0
      one.at = { last: after.last, begun: { turn, ...touched.get(turn), ...rounds.moved() } }
      return { ...after, firstOfStep: messages[0]?.id ?? '' }
    }
    const found = name && (await imports.progress(keyOf(session), name))
    if (found?.messages !== before?.messages) break
  }
  const text = `session ${session.session} has a run that has not ended, or another import`
  throw new TooltrailError('session_busy', text, { retryable: true })
}

/** The turn goes on in its run only while nothing else has come behind it: runs stand one after the other. */
function begunAs({ at }: Import, { head }: SessionHeader): BegunTurn | undefined {
  if (at === undefined || head === at.last) return at?.begun
  return { turn: at.begun.turn, holds: 'rest', moved: new Map() }
}

/** Whether its call has arguments that take milliseconds to read. */
const isLong = (message: ClosedMessage): boolean =>
  message.role === 'tool' && (message.of.toolCalls[message.sequence]?.arguments.length ?? 0) > LONG

async function headerOf({ lease }: Pick<AppendDependencies, 'lease'>, session: Session): Promise<SessionHeader> {
  const header = await lease.look(keyOf(session))
  if (header?.status !== 'live') throw new TooltrailError('session_not_found', `there is no session ${session.session}`)
  return header
}

async function messagesOf(
  { dependencies, session, calls }: Import,
  seen: SessionHeader,
  batch: readonly PlacedMessage[],
  { runs, rounds, now }: { readonly runs: Touched; readonly rounds: StepRounds; readonly now: number },
): Promise<Message[]> {
  const policies = dependencies.agents.get(session.agent)?.policies ?? DEFAULT_POLICIES
  const messageIds = nextIds(lastIdOf(runs, seen.head), now, batch.length)
  const messages: Message[] = []
  for (const [place, placed] of batch.entries()) {
    const { message, turn } = placed
    const id = messageIds[place] ?? ''
    calls.keep(message, id)
    const runId = runs.get(turn)?.run.id ?? ''
    const own = { id, runId, round: await rounds.of(placed), recordedAt: now, agent: session.agent }
    const assistantMessageId = message.role === 'tool' ? await calls.idOf(message.of, message.sequence) : undefined
    const stored = await storedMessage({ dependencies, key: keyOf(session), policies }, message, {
      ...own,
      assistantMessageId,
      parentMessageId: message.parent && (await calls.parentIdOf(message.parent)),
    })
    messages.push(stored)
    if (isLong(message)) await nextTurn()
  }
  return messages
}
