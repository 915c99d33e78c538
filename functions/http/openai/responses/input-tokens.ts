import type { Context } from 'hono'
import { requireUsableAgent } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { nextId } from '../../../domain/ids.ts'
import type { RequestMedia, RequestMessage, RequestText } from '../../../domain/model-request.ts'
import { NO_TOTALS } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import { NO_MESSAGES } from '../../../domain/session-messages.ts'
import { weighMessages } from '../../../log/request/token-weight.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { refuseWrongTools } from '../../v1/messages/incoming-content.ts'
import { textOf } from '../chat/chat-request.ts'
import type { ChatInput } from '../chat/chat-request.ts'
import type { ChatMessage } from '../chat/chat-schemas.ts'
import { withReferences } from './request/item-references.ts'
import { requestedAgent } from './request/model-name.ts'
import { namedSession, requireOneName } from './request/named-session.ts'
import { readInput, readResponseRequest } from './request/response-input.ts'
import type { InputTokensRequest } from './response-schemas.ts'

/**
 * Estimates the tokens of the request that a Response would send to the model first. Counts the instructions and tools
 * of the agent and of the request, the session's log, and the new input. Stores nothing, and fetches no image.
 */
export async function countInputTokens(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: InputTokensRequest,
): Promise<number> {
  const { service, agents } = dependencies
  const caller = c.get('caller')
  const naming = {
    previous: body.previous_response_id,
    conversation: body.conversation,
    header: c.req.header('x-session-id'),
  }
  requireOneName(naming)
  const session = await namedSession(dependencies, caller, naming)
  const agent =
    typeof body.model === 'string' ? requestedAgent(dependencies, body.model).agent.name : (session?.agent ?? 'default')
  requireUsableAgent(agents, caller, agent)
  const items = await withReferences(dependencies, caller, readInput(body.input ?? []), async () => session)
  const input = readResponseRequest(body, items)
  await refuseWrongTools(dependencies, agent, input)
  const instructions = [body.instructions ?? '', input.instructions ?? ''].filter((text) => text !== '').join('\n\n')
  const as = { agent, clientTools: input.tools, ...definedFields({ instructions: instructions || undefined }) }
  const next = await service.context(session ?? unstored(dependencies, caller.tenant, agent), undefined, as)
  return next.estimatedTokens + Math.round(weighMessages(newMessages(input, session !== undefined)))
}

/** Returns the session that the Response would create, without storing the session. */
function unstored({ clock }: RouteDependencies, tenant: string, agent: string): Session {
  const now = clock.now()
  const times = { createdAt: now, updatedAt: now }
  return {
    tenant,
    session: nextId(undefined, now),
    agent,
    metadata: {},
    ...times,
    totals: NO_TOTALS,
    messages: NO_MESSAGES,
  }
}

/** Returns those messages of the request that are not in the session's log. */
const newMessages = ({ history, fresh }: ChatInput, hasLog: boolean): RequestMessage[] =>
  [...(hasLog ? [] : history), ...fresh].flatMap(({ message }) => requestMessages(message))

function requestMessages(message: ChatMessage): RequestMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', parts: partsOf(message.content) }]
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({
        type: 'tool_call' as const,
        id,
        ...called,
      }))
      return [{ role: 'assistant', parts: [...textParts(message.content), ...calls] }]
    }
    case 'tool': {
      const parts = textParts(textOf(message.content))
      return [{ role: 'tool', toolCallId: message.tool_call_id, toolName: '', isError: false, parts }]
    }
    case 'system':
    case 'developer':
      return []
  }
}

type Content = Extract<ChatMessage, { role: 'user' }>['content']

function partsOf(content: Content): (RequestText | RequestMedia)[] {
  if (typeof content === 'string') return textParts(content)
  return content.map((part) => (part.type === 'text' ? part : { type: 'file', id: '', mediaType: '' }))
}

function textParts(content: Extract<ChatMessage, { role: 'assistant' }>['content'] | undefined): RequestText[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []).map((part) => ({ type: 'text', text: 'text' in part ? part.text : part.refusal }))
}
