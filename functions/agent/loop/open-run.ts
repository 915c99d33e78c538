import type { Agent } from '../../domain/agent.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { LeaseLost } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import { NO_MESSAGES } from '../../domain/session-messages.ts'
import { NO_USAGE } from '../../domain/usage/usage.ts'
import { callCompleted } from '../../log/run-events.ts'
import { loadContext } from './context/context.ts'
import { createEventSequence } from './event-sequence.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { createResultWriter, retryingStore } from './retrying-store.ts'
import { keepLease, RunCancelled } from './lease-keeper.ts'
import { absentAgent, openMembers, openModel, openTools, warnAboutMissingTools } from './open-thread.ts'
import { endOfCrashLoop, endRun, stopAfter } from './run-ending.ts'
import type { HeldRun, LoopDependencies, RunState } from './run-state.ts'
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
  state.keeper.stop()
  return undefined
}

async function openLeader(state: RunState): Promise<void> {
  const { store, held, leader } = state
  state.session = held.session ?? (await readSession(state))
  const { messages, decided, isWhole } = await loadContext(store.reader, held.lease, leader.runId, leader.agent)
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

async function readSession({ store, held: { lease } }: RunState): Promise<Session> {
  const session = await store.sessions.read(lease)
  // The session was deleted after this process acquired the lease. The deleting process holds the lease now.
  if (session === undefined) throw new LeaseLost(lease.session, lease.generation)
  return session
}

function createState(ports: LoopDependencies, held: HeldRun, agent: Agent): RunState {
  const { lease, run } = held
  const keeper = keepLease(ports, lease)
  const store = retryingStore(ports, { keeper, clock: ports.clock })
  const failed = new AbortController()
  const emit: RunState['emit'] = (event) => ports.emit(lease, event)
  const emitInOrder = createEventSequence(lease.generation, emit)
  const writer = createResultWriter(store, lease, emitInOrder)
  return {
    ports,
    store,
    held,
    request: run,
    leader: createLeader(run.id, agent),
    session: held.session ?? unreadSession(held),
    keeper,
    writer,
    signal: AbortSignal.any([keeper.signal, writer.signal, failed.signal]),
    fail: (error) => failed.abort(error),
    head: lease.head,
    extended: Promise.resolve(),
    context: {
      decided: {},
      isWhole: false,
      number: run.decisions ?? 0,
      notices: [...(run.notices ?? [])],
      recorded: Promise.resolve(),
    },
    sources: createSourceCounter(),
    emit,
    emitInOrder,
  }
}

const unreadSession = ({ lease, run }: HeldRun): Session => ({
  tenant: lease.tenant,
  session: lease.session,
  agent: run.agent,
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
  const { store, held } = state
  const isRepeatable = ({ id, toolName }: ToolMessage): boolean =>
    thread.members.has(id) || thread.tools.get(toolName)?.idempotent === true
  const interrupted = openCalls(thread).filter((row) => row.status === 'running' && !isRepeatable(row))
  if (interrupted.length === 0) return
  const ids = interrupted.map((row) => row.id)
  await state.emitInOrder(async (position) => {
    const repaired = await store.log.repair(held.lease, ids, position)
    remember(thread, repaired)
    return { result: undefined, events: repaired.map(callCompleted) }
  })
}
