import type { Agent } from '../../domain/agent.ts'
import type {
  ModelRequest,
  RequestMedia,
  RequestMessage,
  RequestText,
  ToolDeclaration,
} from '../../domain/model-request.ts'
import type { ClientTool } from '../../domain/run.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { replay } from '../../log/replay.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { Tools } from '../../ports/tool.ts'
import type { Thread } from './thread.ts'

/** The tools that a run may call: the caller's own first, then the agent's that are not hidden by them. */
export function declaredTools(tools: Tools, clientTools: readonly ClientTool[]): ToolDeclaration[] {
  const own = [...tools.values()].filter((tool) => !clientTools.some((client) => client.name === tool.name))
  return [...clientTools, ...own].map(({ name, description, parameters }) => ({ name, description, parameters }))
}

/** What a model is told before all messages: the session's own instructions stand in for its agent's; empty ones are none. */
export const instructionsOf = (
  { instructions }: Pick<Session, 'instructions'>,
  agent: Pick<Agent, 'instructions'> | undefined,
): string | undefined => (instructions ?? agent?.instructions) || undefined

/**
 * The next request of a thread, media not yet attached. Without any tool of its own, a request whose history has calls
 * declares the tools of these calls: a provider may otherwise drop that history (promises T1).
 */
export function buildRequest(of: {
  readonly session: Pick<Session, 'instructions'>
  readonly thread: Pick<Thread, 'runId' | 'agent' | 'messages'>
  readonly tools: readonly ToolDeclaration[]
  readonly toolChoice: ModelRequest['toolChoice']
}): ModelRequest {
  const { runId, agent } = of.thread
  const messages = replay(of.thread.messages, { currentRun: runId, replay: agent.policies.replay })
  const instructions = instructionsOf(of.session, agent)
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

/** The messages with the bytes of their media, read from the output store. */
export async function attachMedia(
  messages: readonly RequestMessage[],
  key: SessionKey,
  outputs: OutputStore,
): Promise<readonly RequestMessage[]> {
  if (!messages.some(hasMedia)) return messages
  const attach = async (part: RequestText | RequestMedia): Promise<RequestText | RequestMedia> =>
    part.type === 'text' ? part : { ...part, data: await outputs.read(key, part.id) }
  return Promise.all(
    messages.map(async (message): Promise<RequestMessage> => {
      if (message.role === 'assistant') return message
      return { ...message, parts: await Promise.all(message.parts.map(attach)) }
    }),
  )
}

const hasMedia = (message: RequestMessage): boolean =>
  message.parts.some((part) => part.type === 'image' || part.type === 'file')
