import type { Agent } from '../../domain/agent.ts'
import type { Message } from '../../domain/message.ts'
import type { ModelRequest, RequestMedia, RequestMessage, RequestText } from '../../domain/model-request.ts'
import type { ClientTool, Run } from '../../domain/run.ts'
import type { Session } from '../../domain/session.ts'
import { replay } from '../../log/replay.ts'
import type { ToolDeclaration } from '../../domain/model-request.ts'
import type { ToolRegistry } from '../../ports/tool.ts'
import type { OutputStore } from '../../ports/output-store.ts'

/** The tools that a run may call: the caller's own first, then the agent's that are not hidden by them. */
export function declaredTools(
  agent: Agent,
  clientTools: readonly ClientTool[],
  registry: ToolRegistry,
): ToolDeclaration[] {
  const own = agent.tools.flatMap((name) => registry.get(name) ?? [])
  return [...clientTools, ...own.filter((tool) => !clientTools.some((client) => client.name === tool.name))].map(
    ({ name, description, parameters }) => ({ name, description, parameters }),
  )
}

/**
 * The next request of a run, media not yet attached. Without any tool of its own, a request whose history has calls declares
 * the tools of these calls: a provider may otherwise drop that history (promises T1).
 */
export function buildRequest(of: {
  readonly session: Session
  readonly agent: Agent
  readonly run: Run
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDeclaration[]
  readonly toolChoice: ModelRequest['toolChoice']
}): ModelRequest {
  const { session, agent, run } = of
  const messages = replay(of.messages, { currentRun: run.id, replay: agent.policies.replay })
  const instructions = session.instructions ?? agent.instructions
  const former = of.tools.length === 0 ? formerTools(messages) : []
  return {
    ...(instructions === undefined ? {} : { instructions }),
    messages,
    tools: [...of.tools, ...former],
    toolChoice: of.tools.length === 0 ? 'none' : of.toolChoice,
    options: agent.modelOptions,
  }
}

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

/** The request with the bytes of its media read from the output store. */
export async function attachMedia(
  request: ModelRequest,
  session: Session,
  outputs: OutputStore,
): Promise<ModelRequest> {
  if (!request.messages.some(hasMedia)) return request
  const attach = async (part: RequestText | RequestMedia): Promise<RequestText | RequestMedia> =>
    part.type === 'text' ? part : { ...part, data: await outputs.read(session, part.id) }
  const messages = await Promise.all(
    request.messages.map(async (message): Promise<RequestMessage> => {
      if (message.role === 'assistant') return message
      return { ...message, parts: await Promise.all(message.parts.map(attach)) }
    }),
  )
  return { ...request, messages }
}

const hasMedia = (message: RequestMessage): boolean =>
  message.parts.some((part) => part.type === 'image' || part.type === 'file')
