import type { Agent } from '../../domain/agent.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { LeaseLost } from '../../domain/errors.ts'
import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { NO_MESSAGES } from '../../domain/session-messages.ts'
import { NO_USAGE } from '../../domain/usage/usage.ts'
import { loadContext } from './context/context.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { RunCancelled } from './lease-keeper.ts'
import { absentAgent, openMembers, openModel, openTools, warnAboutMissingTools } from './open-thread.ts'
import { endOfCrashLoop, endRun, stopAfter } from './run-ending.ts'
import type { HeldRun, LoopDependencies, RunState } from './run-state.ts'
import { openWriter } from './run-writer.ts'
import { createSourceCounter } from './sources/source-counter.ts'
import { createLeader, openCalls, remember, takeNote, takeNoteOfSummaries, threadsOf } from './thread.ts'
import type { Thread } from './thread.ts'
import { storeRefused } from './tools/tool-batch.ts'

/**
 * Opens a held run: its agent, model, tools and repaired log; the lease is kept alive from now on. Returns undefined if
 * the run ended here (no agent or model, cancelled) or the lease was lost.
 */
export async function openRun(ports: LoopDependencies, held: HeldRun): Promise<RunState | undefined> {
  const agent = ports.agents.get(held.run.agent)
  const state = createState(ports, held, agent ?? absentAgent(held.run.agent))
  try {
    rejectCancelled(held)
    // A crash loop is detected before any step that takes long or may cause the crashes.
    const crashLoop = endOfCrashLoop(state)
    if (crashLoop === undefined) {
      await openLeader(state)
      return state
    }
    await endRun(state, crashLoop)
  } catch (error) {
    await stopAfter(state, error)
  }
  state.writer.stop()
  return undefined
}

async function openLeader(state: RunState): Promise<void> {
  const { reads, writer, held, leader } = state
  state.session = held.session ?? (await readSession(state))
  const { messages, decided, isWhole } = await loadContext(reads.reader, writer.key, leader.runId, leader.agent)
  Object.assign(state.context, { decided, isWhole })
  takeNote(leader, messages)
  takeNoteOfSummaries(leader, held.run, messages)
  remember(leader, messages.filter(isLeaders))
  leader.isWhole = held.origin === 'resumed'
  const absent = await openTools(state, leader)
  await openMembers(
    state,
    leader,
    messages.filter(({ runId }) => runId === leader.runId),
  )
  for (const thread of threadsOf(leader)) await repairCalls(state, thread)
  await emitResolvedCalls(state)
  for (const thread of threadsOf(leader)) await storeRefused(state, thread)
  await warnAboutMissingTools(state, leader, absent)
  await openModel(state, leader)
}

async function readSession({ reads, writer: { key, generation } }: RunState): Promise<Session> {
  const session = await reads.sessions.read(key)
  // The session was deleted after this process acquired the lease. The deleting process holds the lease now.
  if (session === undefined) throw new LeaseLost(key.session, generation)
  return session
}

function createState(ports: LoopDependencies, { lease, ...held }: HeldRun, agent: Agent): RunState {
  const { run } = held
  const key = keyOf(lease)
  const emit: RunState['emit'] = (event) => ports.emit(key, event)
  const { writer, reads } = openWriter(ports, lease, run, emit)
  return {
    ports,
    reads,
    writer,
    held,
    request: run,
    leader: createLeader(run.id, agent),
    session: held.session ?? unreadSession(key, run),
    context: { decided: {}, isWhole: false, notices: [...(run.notices ?? [])] },
    sources: createSourceCounter(),
    emit,
  }
}

const unreadSession = (key: SessionKey, { agent }: Run): Session => ({
  ...key,
  agent,
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  totals: { runs: 0, rounds: 0, usage: NO_USAGE, byAgent: {} },
  messages: NO_MESSAGES,
})

/** Throws `RunCancelled` if the run was cancelled before it was resumed. */
function rejectCancelled({ found, run }: HeldRun): void {
  const cancel = found?.header.cancel
  if (cancel?.run === run.id) throw new RunCancelled(cancel.reason)
}

/**
 * Repairs the log after a crash, durably, before anything else. Open calls that may have run and must not run twice
 * become `interrupted`. Calls of idempotent tools stay open and are executed again. Calls that a member works for stay
 * open, and the member resumes.
 */
async function repairCalls(state: RunState, thread: Thread): Promise<void> {
  const isRepeatable = ({ id, toolName }: ToolMessage): boolean =>
    thread.members.has(id) || thread.tools.get(toolName)?.idempotent === true
  const interrupted = openCalls(thread).filter((row) => row.status === 'running' && !isRepeatable(row))
  if (interrupted.length === 0) return
  remember(thread, await state.writer.interruptCalls(interrupted.map(({ id }) => id)))
}
