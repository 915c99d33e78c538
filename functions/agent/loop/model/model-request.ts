import type { Agent } from '../../../domain/agent.ts'
import type { SessionContext } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { ModelRequest, RequestMessage, ToolDeclaration } from '../../../domain/model-request.ts'
import type { ClientTool, Run } from '../../../domain/runs/run.ts'
import type { Session } from '../../../domain/session.ts'
import { replay } from '../../../log/replay.ts'
import type { SourceNumbers } from '../../../log/sources.ts'
import type { Tools } from '../../../ports/tool.ts'
import type { Thread } from '../thread.ts'

/** The client tools that a run may call: those of the agent's MCP servers keep their names. */
export const usableClientTools = (tools: Tools, clientTools: readonly ClientTool[]): readonly ClientTool[] =>
  clientTools.filter(({ name }) => tools.get(name)?.isOfServer !== true)

/** The tools that a run may call: the caller's own first, then the agent's that are not hidden by them. */
export function declaredTools(tools: Tools, brought: readonly ClientTool[]): ToolDeclaration[] {
  const clientTools = usableClientTools(tools, brought)
  const own = [...tools.values()].filter((tool) => !clientTools.some((client) => client.name === tool.name))
  return [...clientTools, ...own].map(({ name, description, parameters }) => ({ name, description, parameters }))
}

/** What a model is told before all messages: the session's own instructions stand in for its agent's; empty and blank ones are none. */
export const instructionsOf = (
  { instructions }: Pick<Session, 'instructions'>,
  agent: Pick<Agent, 'instructions'> | undefined,
): string | undefined => {
  const own = instructions ?? agent?.instructions
  return own?.trim() === '' ? undefined : own
}

/** The instructions of a run stand in for its session's. */
export const instructed = (
  { instructions: own }: Pick<Run, 'instructions'>,
  { instructions }: Pick<Session, 'instructions'>,
): Pick<Session, 'instructions'> => definedFields({ instructions: own ?? instructions })

/** What a request is made of. `context`: what was decided for the session's requests. */
export interface RequestOf {
  readonly session: Pick<Session, 'instructions'>
  readonly thread: Pick<Thread, 'runId' | 'agent'> & { readonly messages: readonly Message[] }
  readonly context: SessionContext
  /** Numbers of sources that the log does not record yet. */
  readonly numbers: SourceNumbers
  readonly tools: readonly ToolDeclaration[]
  readonly toolChoice: ModelRequest['toolChoice']
}

/**
 * The next request of a thread, media not yet attached. Without any tool of its own, a request whose history has calls
 * declares the tools of these calls: a provider may otherwise drop that history (promises T1).
 */
export function buildRequest(of: RequestOf): ModelRequest {
  const { runId, agent } = of.thread
  const options = {
    currentRun: runId,
    replay: agent.policies.replay,
    context: of.context,
    numbers: of.numbers,
    ...mediaFromOf(agent, of.context),
  }
  const messages = replay(of.thread.messages, options)
  const instructions = instructionsOf(of.session, agent)
  const former = of.tools.length === 0 ? formerTools(messages) : []
  return {
    ...definedFields({ instructions }),
    messages,
    tools: [...of.tools, ...former],
    toolChoice: of.tools.length === 0 ? 'none' : of.toolChoice,
    options: agent.modelOptions,
  }
}

/** From where on media of earlier turns go out. */
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
