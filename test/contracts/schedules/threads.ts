import { definedFields } from '../../../functions/domain/defined-fields.ts'
import { isLeaders } from '../../../functions/domain/messages/message.ts'
import type { AssistantMessage, Message, ParentNames, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { DELEGATE_TOOL, isDelegation } from '../../../functions/domain/runs/team.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import type { Lease } from '../../../functions/domain/session.ts'
import type { SessionPorts } from '../stores.ts'
import type { Process } from './processes.ts'
import type { Harness, Plan, PlannedCall } from './harness.ts'

/** A holder's run and its progress. */
export interface Holding {
  readonly harness: Harness
  readonly process: Process
  readonly ports: SessionPorts
  readonly lease: Lease
  readonly leader: Thread
  head: string | undefined
  /** Whether a thread is extending the log. Ids are stored in order, so all other threads wait. */
  extending: boolean
  /** Whether the run has ended although members still work. These members no longer extend the log. */
  stopping: boolean
  /** Whether the lease is lost or released. If so, no further tool starts. */
  over: boolean
}

/** A conversation with a scripted model. The leader has one thread, and each member with a task has its own. */
export interface Thread {
  /** The delegate call of a member; undefined for the leader. */
  readonly of: ToolMessage | undefined
  readonly plan: Plan
  /** Whether the task of the thread is in the log. */
  begun: boolean
  round: number
  /** Number of calls of the thread that are executing, including delegate calls. */
  running: number
  /** Calls to execute. */
  todo: readonly ToolMessage[]
  /** Ids of calls that were waiting when last seen. */
  waiting: readonly string[]
  /** Members of the thread that have not ended, by the id of their delegate call's row. */
  readonly members: Map<string, Thread>
}

export const newThread = (plan: Plan, of?: ToolMessage): Thread => ({
  of,
  plan,
  begun: of === undefined,
  round: 0,
  running: 0,
  todo: [],
  waiting: [],
  members: new Map(),
})

/** Returns a thread and all threads that work for it. */
export function* threadsOf(thread: Thread): Generator<Thread, void> {
  yield thread
  for (const member of thread.members.values()) yield* threadsOf(member)
}

const textPlan = (text: string): Plan => JSON.parse(text) as Plan

/** The model's plan for the run. The plan is empty if the run's input is not in the log. */
export function planOf(messages: readonly Message[]): Plan {
  const part = messages.find((message) => message.role === 'user')?.parts[0]
  return part?.type === 'text' ? textPlan(part.text) : { rounds: [], fails: false }
}

/** Restores the leader of a run from the run's messages, with the members that have not ended. */
export function threadsIn(messages: readonly Message[]): Thread {
  return filled(newThread(planOf(messages.filter(isLeaders))), messages.filter(isLeaders), messages)
}

function filled(thread: Thread, own: readonly Message[], all: readonly Message[]): Thread {
  const calls = own.filter((message) => message.role === 'tool')
  thread.begun ||= own.length > 0
  thread.round = own.filter((message) => message.role === 'assistant').length
  thread.todo = calls.filter((row) => row.status === 'approved' || (row.status === 'running' && mayRunAgain(row)))
  thread.waiting = calls.filter((row) => row.status === 'waiting').map((row) => row.id)
  for (const row of calls) {
    if (row.status !== 'running' || !isDelegation(row)) continue
    const asked = own.find((message) => message.id === row.assistantMessageId)
    const task = asked?.role === 'assistant' ? (asked.toolCalls[row.sequence]?.arguments ?? '') : ''
    const of = all.filter(({ parentMessageId }) => parentMessageId === row.id)
    thread.members.set(row.id, filled(newThread(textPlan(task), row), of, all))
  }
  return thread
}

const mayRunAgain = ({ toolName }: ToolMessage): boolean => toolName === 'idempotent'

/** Calls that may have been executed, and must not be executed twice. */
export const lostCalls = (messages: readonly Message[]): ToolMessage[] =>
  messages
    .filter((message) => message.role === 'tool')
    .filter((row) => row.status === 'running' && !mayRunAgain(row) && !isDelegation(row))

/**
 * Extends the log as soon as no other thread does. Returns false if the run ends first. `write` gets the new ids, and stores
 * the messages with these ids.
 */
async function extend(
  holding: Holding,
  process: Process,
  count: number,
  write: (ids: readonly string[]) => Promise<void>,
): Promise<boolean> {
  const isOver = (): boolean => holding.over || holding.stopping
  await process.at('take its turn', () => !holding.extending || isOver())
  if (isOver()) return false
  holding.extending = true
  try {
    const ids = nextIds(holding.head, holding.harness.stores.clock.now(), count)
    await write(ids)
    holding.head = ids.at(-1)
    return true
  } finally {
    holding.extending = false
  }
}

/** Fields that name the delegate call of a thread's messages. */
const parentOf = ({ of }: Thread): ParentNames =>
  of === undefined ? {} : { parentToolCallId: of.toolCallId, parentMessageId: of.id }

/** Stores the task of a member in the log. */
export async function storeTask(holding: Holding, process: Process, member: Thread): Promise<void> {
  const { ports, lease, harness } = holding
  const base = { runId: lease.runId, agent: 'helper', ...parentOf(member), round: 0 }
  const parts = [{ type: 'text', text: JSON.stringify(member.plan) }] as const
  await extend(holding, process, 1, async ([id = '']) => {
    const task = { ...base, id, role: 'user', createdAt: harness.stores.clock.now(), parts } as const
    const act = { name: 'task', generation: lease.generation }
    await process.write(act, () => ports.log.append(lease, [task]))
    member.begun = true
  })
}

/** Stores the next completion of a thread with these calls. A completion without calls is the final one of a member. */
export async function storeRound(
  holding: Holding,
  process: Process,
  thread: Thread,
  calls: readonly PlannedCall[],
): Promise<void> {
  const { ports, lease } = holding
  await extend(holding, process, calls.length + 1, async ([id = '', ...ids]) => {
    const { assistant, tools } = roundOf(holding, thread, calls, id, ids)
    const act = { name: 'append', generation: lease.generation }
    await process.write(act, () => ports.log.appendRound(lease, { assistant, tools }))
    thread.round++
    thread.todo = tools.filter((row) => row.status === 'running' && !isDelegation(row))
    thread.waiting = tools.filter((row) => row.status === 'waiting').map((row) => row.id)
    for (const [place, call] of calls.entries()) {
      const row = tools[place]
      if (typeof call !== 'string' && row !== undefined) thread.members.set(row.id, newThread(call.team, row))
    }
  })
}

function roundOf(
  { lease, harness }: Holding,
  thread: Thread,
  calls: readonly PlannedCall[],
  id: string,
  ids: readonly string[],
): { assistant: AssistantMessage; tools: readonly ToolMessage[] } {
  const { round } = thread
  const createdAt = harness.stores.clock.now()
  const base = { runId: lease.runId, agent: 'helper', ...parentOf(thread), round, createdAt }
  const toolCalls = calls.map((call, n) => ({
    id: `${round}-${n}`,
    name: typeof call === 'string' ? call : DELEGATE_TOOL,
    arguments: JSON.stringify(typeof call === 'string' ? {} : call.team),
  }))
  const tools = toolCalls.map(({ id: toolCallId, name }, sequence): ToolMessage => {
    const needs: ToolMessage['needs'] = name === 'client' ? 'result' : name === 'approval' ? 'approval' : undefined
    return {
      ...base,
      id: ids[sequence] ?? '',
      role: 'tool',
      assistantMessageId: id,
      toolCallId,
      toolName: name,
      call: `${name}()`,
      sequence,
      status: needs === undefined ? 'running' : 'waiting',
      ...definedFields({ needs }),
      parts: [],
      generation: lease.generation,
    }
  })
  return { assistant: { ...base, id, role: 'assistant', parts: [], toolCalls }, tools }
}
