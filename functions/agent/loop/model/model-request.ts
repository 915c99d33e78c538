import type { Agent } from '../../../domain/agent.ts'
import type { SessionContext } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { ModelRequest, RequestMessage, ToolDeclaration } from '../../../domain/model-request.ts'
import type { JsonFormat } from '../../../domain/runs/request-settings.ts'
import type { ClientTool, Run } from '../../../domain/runs/run.ts'
import type { Session } from '../../../domain/session.ts'
import { repairsFor } from '../../../log/request/request-form.ts'
import { replay } from '../../../log/replay.ts'
import type { SourceNumbers } from '../../../log/sources.ts'
import type { Tools } from '../../../ports/tool.ts'
import type { Thread } from '../thread.ts'

/** The client tools that a run may call. A client tool is dropped if a tool of the agent's MCP servers has its name. */
export const usableClientTools = (tools: Tools, clientTools: readonly ClientTool[]): readonly ClientTool[] =>
  clientTools.filter(({ name }) => tools.get(name)?.isOfServer !== true)

/** Whether a client tool of the run replaces the agent's tool of this name. */
export const isReplaced = (tools: Tools, clientTools: readonly ClientTool[], name: string): boolean =>
  tools.has(name) && usableClientTools(tools, clientTools).some((tool) => tool.name === name)

/** The namespace of the client tool of this name, if it has one. */
export const namespaceOf = (tools: Tools, clientTools: readonly ClientTool[], name: string): string | undefined =>
  usableClientTools(tools, clientTools).find((tool) => tool.name === name)?.namespace

/** The tools that a run may call: the client tools first, then the agent's tools that no client tool hides. */
export function declaredTools(tools: Tools, brought: readonly ClientTool[]): ToolDeclaration[] {
  const clientTools = usableClientTools(tools, brought)
  const own = [...tools.values()].filter((tool) => !clientTools.some((client) => client.name === tool.name))
  return [...clientTools, ...own].map(({ name, description, parameters }) => ({ name, description, parameters }))
}

/**
 * The system instructions of a request. The session's own instructions replace its agent's. Blank instructions count as
 * none.
 */
export const instructionsOf = (
  { instructions }: Pick<Session, 'instructions'>,
  agent: Pick<Agent, 'instructions'> | undefined,
): string | undefined => {
  const own = instructions ?? agent?.instructions
  return own?.trim() === '' ? undefined : own
}

/** Returns the session with the instructions of the run, if the run has any. */
export const instructed = (
  { instructions: own }: Pick<Run, 'instructions'>,
  { instructions }: Pick<Session, 'instructions'>,
): Pick<Session, 'instructions'> => definedFields({ instructions: own ?? instructions })

/** The data from which a request is built. `context` holds the decisions for the session's requests. */
export interface RequestOf {
  readonly session: Pick<Session, 'instructions'>
  readonly thread: Pick<Thread, 'runId' | 'agent'> & { readonly messages: readonly Message[] }
  readonly context: SessionContext
  /** Numbers of sources that the log has not recorded yet. */
  readonly numbers: SourceNumbers
  readonly tools: readonly ToolDeclaration[]
  readonly toolChoice: ModelRequest['toolChoice']
  readonly format?: JsonFormat
  /** The messages that ask again for an answer. They follow the messages of the thread, and are never stored. */
  readonly repeated?: readonly RequestMessage[]
}

/**
 * Builds the next request of a thread, without the data of its media. If the thread has no tools but its history has
 * calls, the request declares the tools of these calls: a provider may otherwise drop that history (promises T1).
 */
export function buildRequest(of: RequestOf): ModelRequest {
  const { runId, agent } = of.thread
  const options = {
    currentRun: runId,
    model: agent.model,
    replay: agent.policies.replay,
    context: of.context,
    numbers: of.numbers,
    ...mediaFromOf(agent, of.context),
  }
  const messages = replay(of.thread.messages, options)
  const instructions = instructionsOf(of.session, agent)
  const former = of.tools.length === 0 ? formerTools(messages) : []
  const { steps } = repairsFor(of.context, agent.model)
  return {
    ...definedFields({ instructions }),
    messages: [...messages, ...(of.repeated ?? [])],
    tools: [...of.tools, ...former],
    toolChoice: of.tools.length === 0 ? 'none' : of.toolChoice,
    options: agent.modelOptions,
    ...definedFields({ responseFormat: of.format }),
    ...(of.format !== undefined && steps.includes('format') ? { describesFormat: true } : {}),
    ...(steps.includes('names') ? { narrowNames: true } : {}),
  }
}

/**
 * The option `mediaFrom` of a request: the first message of earlier turns whose media are sent. Media of all later messages are
 * sent too. Absent if the policy `images` is `note`.
 */
export const mediaFromOf = (
  { policies }: Pick<Agent, 'policies'>,
  { media }: Pick<SessionContext, 'media'>,
): { readonly mediaFrom?: string } => (policies.images === 'note' ? {} : { mediaFrom: media?.from ?? '' })

function formerTools(messages: readonly RequestMessage[]): ToolDeclaration[] {
  const names = messages.flatMap((message) =>
    message.role === 'assistant' ? message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.name] : [])) : [],
  )
  return [...new Set(names)].map((name) => ({
    name,
    description: 'No longer available.',
    parameters: { type: 'object', properties: {} },
  }))
}
