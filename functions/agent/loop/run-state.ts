import type { RunEvent } from '../../domain/events.ts'
import { nextId, nextIds } from '../../domain/ids.ts'
import type { AssistantMessage, AssistantPart } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { InsistentStore } from './insist.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { HeldRun, LoopDependencies } from './loop-dependencies.ts'
import type { ResultWriter } from './result-writer.ts'
import { roundsOf } from './thread.ts'
import type { Thread } from './thread.ts'

/** What the loop knows of its run while it holds the lease. Made once, when the run is opened, and passed, never copied. */
export interface RunState {
  readonly ports: Omit<LoopDependencies, keyof InsistentStore>
  /** Keeps asking where the store fails for a while. */
  readonly store: InsistentStore
  readonly held: HeldRun
  readonly leader: Thread
  readonly keeper: LeaseKeeper
  readonly writer: ResultWriter
  /** Aborts when the lease is lost, the run is cancelled, or a result could not be stored. */
  readonly signal: AbortSignal
  /** The log's last id, of whichever thread. */
  head: string | undefined
  /** Set when this holder has ended the run. */
  ended?: Run
  emit(event: RunEvent): void
}

/** The next ids of the log. */
export function allocate(state: RunState, count: number): string[] {
  const ids = nextIds(state.head, state.ports.clock.now(), count)
  state.head = ids.at(-1) ?? state.head
  return ids
}

/** An assistant message of a thread, not yet stored, with an id after the log's last. */
export function assistantMessage(
  state: RunState,
  thread: Thread,
  content: Partial<AssistantMessage> & { readonly parts: readonly AssistantPart[] },
): AssistantMessage {
  const now = state.ports.clock.now()
  const { parentToolCallId } = thread
  return {
    id: nextId(state.head, now),
    role: 'assistant',
    runId: thread.runId,
    agent: thread.agent.name,
    ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
    round: roundsOf(thread),
    createdAt: now,
    toolCalls: [],
    ...content,
  }
}
