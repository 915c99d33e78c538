import type { Agent } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { LeaseLost } from '../../domain/errors.ts'
import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session } from '../../domain/session.ts'
import type { UsageAccount } from '../../domain/usage/usage-count.ts'
import { currentLog } from '../current-log.ts'
import { loadContext } from './context/context.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { RunCancelled } from './writer/lease-keeper.ts'
import { absentAgent, openMembers, openThread, warnAboutMissingTools } from './open-thread.ts'
import { endOfCrashLoop, endRun, stopAfter } from './run-ending.ts'
import { refusedRound } from './run-state.ts'
import type { HeldPhases, HeldRun, LoopDependencies, OpeningRun, ReleasedPhase, RunState } from './run-state.ts'
import { interruptedCalls } from './next-step.ts'
import { openWriter } from './writer/run-writer.ts'
import { createSourceCounter } from './sources/source-counter.ts'
import { createLeader, remember, takeNote, takeNoteOfSummaries, threadsOf } from './thread.ts'
import type { OpenThread } from './thread.ts'

/**
 * Opens a held run: its agent, model, tools and repaired log. Keeps the lease alive from now on. Returns a released phase if
 * the lease was lost, or if the run ended here, for example because it was cancelled.
 */
export async function openRun(ports: LoopDependencies, held: HeldRun): Promise<RunState | ReleasedPhase> {
  const agent = ports.agents.get(held.run.agent)
  const opening = holdRun(ports, held, agent ?? absentAgent(held.run.agent))
  let run: HeldPhases = opening
  try {
    // A crash loop is detected before any step that takes long or may cause the crashes, such as the read of calls.
    const crashLoop = endOfCrashLoop(opening)
    if (held.origin === 'resumed') await opening.writer.emitResumption(held.run, crashLoop === undefined)
    rejectCancelled(held)
    if (crashLoop === undefined) {
      const session = held.session ?? (await readSession(opening))
      run = { ...opening, account: accountOf(held.run, session) }
      const { state, found, absent } = await readRun(run, session)
      run = state
      await repairRun(state, found)
      await warnAboutMissingTools(state, state.leader, absent)
      await state.leader.model()
      return state
    }
    await endRun(opening, crashLoop)
  } catch (error) {
    await stopAfter(run, error)
  }
  opening.writer.stop()
  return { phase: 'unopened' }
}

/** A run after its log was read and the tools of its leader were opened. */
interface ReadRun {
  readonly state: RunState
  /** Messages of the run and its members. */
  readonly found: readonly Message[]
  /** Reasons why tools are absent. */
  readonly absent: readonly string[]
}

/** Reads the log of a run, and opens the tools of its leader. */
async function readRun(opening: OpeningRun, session: Session): Promise<ReadRun> {
  const { reads, writer, held, leader } = opening
  const { run } = held
  const { messages, decided, isWhole } = await loadContext(reads.reader, writer.key, leader.runId, leader.agent)
  takeNote(leader, messages)
  takeNoteOfSummaries(leader, run, messages)
  remember(leader, messages.filter(isLeaders))
  const { thread, absent } = await openThread(opening, leader)
  thread.isWhole = held.origin === 'resumed'
  thread.refusedRound = refusedRound(run)
  if (run.trigger === 'input' && thread.agent.policies.consolidation !== false) thread.summary = 'due'
  const context = { decided, isWhole, notices: [...(run.notices ?? [])] }
  const state = { ...opening, phase: 'open', leader: thread, session, request: run, context } as const
  return { state, found: messages.filter(({ runId }) => runId === leader.runId), absent }
}

/** Opens the members, repairs the calls of all threads, and emits the ends of the calls that clients have resolved. */
async function repairRun(state: RunState, found: readonly Message[]): Promise<void> {
  await openMembers(state, state.leader, found)
  for (const thread of threadsOf(state.leader)) await repairCalls(state, thread)
  await emitResolvedCalls(state)
}

async function readSession({ reads, writer: { key, generation } }: OpeningRun): Promise<Session> {
  const session = await reads.sessions.read(key)
  // The session was deleted after this process acquired the lease. The deleting process holds the lease now.
  if (session === undefined) throw new LeaseLost(key.session, generation)
  return session
}

function holdRun(ports: LoopDependencies, { lease, ...held }: HeldRun, agent: Agent): OpeningRun {
  const { run } = held
  const key = keyOf(lease)
  const emit: RunState['emit'] = (event) => ports.emit(key, event)
  const { writer, reads } = openWriter({ ...ports, reader: currentLog(ports.reader) }, lease, run, emit)
  const leader = createLeader(run.id, agent)
  const account = accountOf(run, held.session ?? {})
  return { phase: 'opening', ports, reads, writer, held, leader, account, sources: createSourceCounter(), emit }
}

const accountOf = ({ keyId }: Run, { owner }: Pick<Session, 'owner'>): UsageAccount => definedFields({ owner, keyId })

/** Throws `RunCancelled` if the run was cancelled before it was resumed. */
function rejectCancelled({ found, run }: HeldRun): void {
  const cancel = found?.header.cancel
  if (cancel?.run === run.id) throw new RunCancelled(cancel.reason)
}

/** Repairs the log after a crash, durably, before anything else. */
async function repairCalls({ writer }: RunState, thread: OpenThread): Promise<void> {
  const interrupted = interruptedCalls(thread).map(({ id }) => id)
  if (interrupted.length > 0) remember(thread, await writer.interruptCalls(interrupted))
}
