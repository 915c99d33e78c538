import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent } from '../../domain/agent.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { ModelError } from '../../ports/model.ts'
import type { Model } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'
import { raceAbort, TimedOut, withinTime } from '../../domain/time/time-limit.ts'
import { warning } from './notices.ts'
import { recordDecision } from './record-decision.ts'
import type { HeldPhases, RunState } from './run-state.ts'
import { createMember, openCalls, remember } from './thread.ts'
import type { OpenThread, Thread } from './thread.ts'
import type { WarningCode } from '../../domain/runs/run.ts'

/** Timeout for opening a model or an agent's tools. */
export const OPEN_MS = 30_000

/**
 * Opens the tools of a thread: those of its agent, and the tool that delegates to its members. Also returns the reasons why
 * tools are absent. Members with the same agent share the MCP tool list taken when the first of them started.
 */
export async function openThread(
  run: HeldPhases,
  thread: Thread,
): Promise<{ readonly thread: OpenThread; readonly absent: readonly string[] }> {
  const { ports, held, writer } = run
  const absent: string[] = []
  const as = isLeaders(thread) && held.origin === 'started' ? 'begins' : 'continues'
  const opening = {
    ...writer.key,
    runId: thread.runId,
    as,
    absent: (why: string) => void absent.push(why),
  } as const
  const opened = await inTime(run, 'the registry of tools', () => ports.tools.open(thread.agent, opening))
  const tools = await withDelegation(opened, thread.agent, ports.agents)
  const model = opensOnce(() => openModel(run, thread.agent))
  return { thread: { ...thread, tools, model, faults: new Map(), isWhole: false, summary: 'considered' }, absent }
}

/** Returns a function that calls `open` until one call succeeds, and then always returns the value of that call. */
function opensOnce<Value>(open: () => Promise<Value>): () => Promise<Value> {
  const opened: Value[] = []
  return async () => {
    const [known = await open()] = opened
    opened[0] = known
    return known
  }
}

/** The tools of an agent. An agent with members also gets the tool that delegates to them. */
export async function withDelegation(
  tools: Tools,
  agent: Pick<Agent, 'members'>,
  agents: ReadonlyMap<string, Agent>,
): Promise<Tools> {
  const members = (agent.members ?? []).flatMap((name) => agents.get(name) ?? [])
  if (members.length === 0) return tools
  const tool = (await import('./members/delegate-tool.ts')).delegateTool(members)
  return new Map([...tools, [tool.name, tool]])
}

/** Warnings about client tools of the run that have the name of an agent's tool. */
function clashesOf(
  { request }: RunState,
  { tools }: OpenThread,
): { readonly code: WarningCode; readonly detail: string }[] {
  return request.clientTools.flatMap(({ name }): { readonly code: WarningCode; readonly detail: string }[] => {
    const tool = tools.get(name)
    if (tool === undefined) return []
    return tool.isOfServer === true
      ? [{ code: 'client_tool_ignored', detail: `the tool ${name} of an MCP server is used, not the client's tool` }]
      : [{ code: 'server_tool_replaced', detail: `the client's tool ${name} is used, not the agent's tool` }]
  })
}

/** Warns the run's followers about absent tools of a thread, and about client tools with names of the agent's tools. */
export async function warnAboutMissingTools(
  state: RunState,
  thread: OpenThread,
  absent: readonly string[],
): Promise<void> {
  const notices = [
    ...absent.map((detail) => warning(thread, 'mcp_unavailable', detail)),
    ...clashesOf(state, thread).map(({ code, detail }) => warning(thread, code, detail)),
  ]
  if (notices.length > 0) await recordDecision(state, { notices })
}

/** Opens the model of an agent. Rejects with `ModelError` if that fails. */
async function openModel(run: HeldPhases, { name, model }: Agent): Promise<Model> {
  const { ports, writer, held } = run
  if (!ports.agents.has(name))
    throw new ModelError('invalid_request', `agent ${name} is not configured`, { retryable: false })
  const use = { ...writer.key, run: held.run.id }
  try {
    return await inTime(run, `opening model ${model}`, () => ports.models.open(model, use))
  } catch (error) {
    if (error instanceof TimedOut) throw new ModelError('timeout', error.message, { retryable: true, cause: error })
    throw error
  }
}

async function inTime<Result>({ writer }: HeldPhases, who: string, open: () => Promise<Result>): Promise<Result> {
  const done = writer.startWatchdog(OPEN_MS)
  try {
    return await raceAbort(withinTime(OPEN_MS, who, open), writer.signal)
  } finally {
    done()
  }
}

/**
 * Opens the members that were working when the run was interrupted, each from its own messages in the log. A member is
 * opened if its task is stored and its delegate call has not ended. `found`: the run's messages.
 */
export async function openMembers(state: RunState, thread: OpenThread, found: readonly Message[]): Promise<void> {
  for (const call of openCalls(thread)) {
    const own = found.filter(({ parentMessageId }) => parentMessageId === call.id)
    const [task] = own
    if (task === undefined) continue
    const { thread: member, absent } = await openThread(
      state,
      createMember(thread, call, agentNamed(state, task.agent)),
    )
    member.isWhole = true
    remember(member, own)
    thread.members.set(call.id, member)
    await warnAboutMissingTools(state, member, absent)
    await openMembers(state, member, found)
  }
}

/** The agent with this name, or an agent without model and tools if it is no longer configured. */
export const agentNamed = ({ ports }: Pick<RunState, 'ports'>, name: string): Agent =>
  ports.agents.get(name) ?? absentAgent(name)

/** Creates the placeholder for an agent that is no longer configured. It has no model and no tools. */
export const absentAgent = (name: string): Agent => ({
  name,
  model: '',
  modelOptions: {},
  tools: [],
  policies: DEFAULT_POLICIES,
})
