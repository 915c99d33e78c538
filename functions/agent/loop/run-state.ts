import type { Agent } from '../../domain/agent.ts'
import type { SessionContext } from '../../domain/context.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { HistoryEntries, HistoryQuery } from '../../domain/history.ts'
import { isLeaders, parentNames } from '../../domain/messages/message.ts'
import type { AssistantMessage, AssistantPart, Message, ToolCall, ToolMessage } from '../../domain/messages/message.ts'
import { attemptField, attemptNumber } from '../../domain/runs/attempt.ts'
import { jsonFormat } from '../../domain/runs/request-settings.ts'
import type { JsonFormat } from '../../domain/runs/request-settings.ts'
import type { Run, RunNotice } from '../../domain/runs/run.ts'
import type { Lease, Session, SessionHeader, SessionKey } from '../../domain/session.ts'
import type { UsageAccount } from '../../domain/usage/usage-count.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HistoryIndex } from '../../ports/history-index.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Models } from '../../ports/model.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { RunLog } from '../../ports/run-log.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { ToolRegistry } from '../../ports/tool.ts'
import type { UsageLedger } from '../../ports/usage-ledger.ts'
import { SEARCHING_TOOL } from '../../search/documents/documents.ts'
import type { LoopReads, LoopStore } from './writer/retrying-store.ts'
import type { RunWriter } from './writer/run-writer.ts'
import { numbersToRecord } from './sources/source-counter.ts'
import type { SourceCounter } from './sources/source-counter.ts'
import { ownMessages, roundsOf } from './thread.ts'
import type { OpenThread, Thread } from './thread.ts'

/** The ports and functions that the loop needs to execute a run. */
export interface LoopDependencies {
  readonly lease: RunLease
  readonly log: RunLog
  readonly reader: LogReader
  readonly sessions: SessionStore
  readonly usage: Pick<UsageLedger, 'count'>
  readonly outputs: OutputStore
  readonly index: HistoryIndex
  readonly models: Models
  readonly tools: ToolRegistry
  readonly agents: ReadonlyMap<string, Agent>
  readonly clock: Clock
  readonly logger: Logger
  search(query: HistoryQuery): Promise<HistoryEntries>
  emit(key: SessionKey, event: RunEvent): void
}

/** A run whose lease this process holds, in the state in which it was claimed. */
export interface HeldRun {
  readonly lease: Lease
  readonly run: Run
  /** The session, if the holder has read it before. */
  readonly session?: Session
  /** `started`: from the queue; `resumed`: after a pause, a hand-off or a crash. */
  readonly origin: 'started' | 'resumed'
  /** Set if resumed: the header and the run's open calls, read after the claim. */
  readonly found?: { readonly header: SessionHeader; readonly open: readonly ToolMessage[] }
}

/** The client tools, instructions and settings of a run. A request that brings tool results may replace all of them. */
export type RunRequest = Pick<Run, 'clientTools' | 'instructions' | 'settings'>

/** The context decisions for the session's requests, and the notices of this run. */
export interface ContextState {
  decided: SessionContext
  /** Whether the leader's thread holds all messages that a request sends. */
  isWhole: boolean
  readonly notices: RunNotice[]
}

/** A run that this process executed to its end, with all of its messages, ids ascending. */
export interface EndedRun {
  readonly run: Run
  readonly messages: readonly Message[]
}

/** The fields that every phase of a run has, from the time at which this process holds its lease. */
interface HeldPhase {
  readonly ports: Omit<LoopDependencies, keyof LoopStore | 'emit'>
  /** Retries reads that fail temporarily. */
  readonly reads: LoopReads
  /** Stores all data of the run. */
  readonly writer: RunWriter
  readonly held: Omit<HeldRun, 'lease'>
  readonly leader: Thread
  /** The account that the run's completions are counted for. */
  readonly account: UsageAccount
  readonly sources: SourceCounter
  /** Emits an event that is not stored. */
  emit(event: RunEvent): void
}

/** A run whose log and tools are not read yet. It can only end. */
export interface OpeningRun extends HeldPhase {
  readonly phase: 'opening'
}

/** A run that can advance. It is created when the run is opened, and passed on without copying. */
export interface RunState extends HeldPhase {
  readonly phase: 'open'
  readonly leader: OpenThread
  readonly session: Session
  /** The tools, instructions and settings of the run's newest request, as this holder has read it. */
  request: RunRequest
  readonly context: ContextState
}

/**
 * A run that this holder has ended. `messages` is undefined if the log has messages that this process has not read.
 */
export interface EndedPhase {
  readonly phase: 'ended'
  readonly run: Run
  readonly messages: readonly Message[] | undefined
}

/**
 * A run that this process no longer holds. `unopened`: the run could not be opened. `lost`: the lease was lost. Another process
 * continues the run now or after the lease has expired.
 */
export type ReleasedPhase = EndedPhase | { readonly phase: 'paused' | 'handed_off' | 'lost' | 'unopened' }

/** A run in the process that holds its lease. */
export type HeldPhases = OpeningRun | RunState

/**
 * The format of a thread's completions without calls: for the leader, the format of the run; for a member, the format of its
 * agent.
 */
export const formatOf = ({ request }: Pick<RunState, 'request'>, thread: Thread): JsonFormat | undefined =>
  isLeaders(thread) ? request.settings?.format : jsonFormat(thread.agent.policies.responseFormat)

/** Number of the leader's round in which calls are refused, because the run's newest request allows none. */
export const refusedRound = ({ settings }: RunRequest): number | undefined =>
  settings?.toolChoice === 'none' ? (settings.choiceRound ?? 0) : undefined

/**
 * Whether the history was searched in this run: by the thread, by one of its members, by the thread that delegated to
 * it, or by `calls`.
 */
export const hasSearched = (thread: Thread, calls: readonly ToolCall[] = []): boolean =>
  thread.searched === true ||
  calls.some(({ name }) => name === SEARCHING_TOOL) ||
  ownMessages(thread).some(
    (message) => message.role === 'tool' && (message.searched === true || message.toolName === SEARCHING_TOOL),
  )

/** The number of the attempt at the thread's next completion. */
export function currentAttempt({ held, writer }: HeldPhases, thread: Thread): number {
  const { round, attempts } = thread.discarded
  return attemptNumber({
    // Each pause releases the lease. So no pause has followed the claim, and the claimed run contains all pauses.
    run: held.run,
    completions: ownMessages(thread).filter((message) => message.role === 'assistant'),
    generation: writer.generation,
    discarded: round === roundsOf(thread) ? attempts : 0,
  })
}

/** Builds an assistant message of a thread, not yet stored, with an id after the log's last one. */
export function assistantMessage(
  state: HeldPhases,
  thread: Thread,
  content: Partial<AssistantMessage> & { readonly parts: readonly AssistantPart[] },
): AssistantMessage {
  return {
    id: state.writer.nextId(),
    role: 'assistant',
    runId: thread.runId,
    agent: thread.agent.name,
    ...parentNames(thread),
    round: roundsOf(thread),
    ...attemptField(currentAttempt(state, thread)),
    createdAt: state.ports.clock.now(),
    toolCalls: [],
    ...numbersToRecord(state.sources, thread),
    ...(hasSearched(thread, content.toolCalls) ? { searched: true } : {}),
    ...content,
  }
}
