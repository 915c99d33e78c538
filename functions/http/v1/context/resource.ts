import type { z } from '@hono/zod-openapi'
import type { NextRequest } from '../../../agent/service/agent-service.ts'
import type { Summary } from '../../../domain/context.ts'
import type { ModelRequest, RequestMedia, RequestMessage, RequestText } from '../../../domain/model-request.ts'
import { toOpenAiMessages } from '../../../log/formats/openai-format.ts'
import { namesOf, wireName } from '../../../log/request/wire-names.ts'
import type { ContextSchema, SummarySchema } from './schema.ts'
import { partUrl } from '../messages/resource.ts'
import { timeText } from '../time-text.ts'
import { usageResource } from '../usage/resource.ts'

/** A summary as the API shows it. */
export function summaryResource(summary: Summary): z.input<typeof SummarySchema> {
  return {
    object: 'summary',
    text: summary.text,
    through: summary.through,
    messages: summary.messages,
    created_at: timeText(summary.createdAt),
    usage: usageResource(summary.usage),
    model: summary.model,
  }
}

/**
 * Returns the names that the declared tools have in the request to the provider. `mapped_tools` lists the tools whose
 * original names are different.
 */
function toolNames(request: ModelRequest): Pick<z.input<typeof ContextSchema>, 'tools' | 'mapped_tools'> {
  const rules = namesOf(request)
  const declared = request.tools.map((tool) => ({ name: wireName(tool.name, rules), original_name: tool.name }))
  const mapped = declared.filter(({ name, original_name: original }) => name !== original)
  return { tools: declared.map(({ name }) => name), ...(mapped.length === 0 ? {} : { mapped_tools: mapped }) }
}

/** A session's next request as the API shows it, with links to its media. */
export function contextResource(session: string, next: NextRequest): z.input<typeof ContextSchema> {
  const { agent, request, summary, mediaOf } = next
  const link = (part: RequestText | RequestMedia): RequestText | RequestMedia =>
    part.type === 'text' ? part : { ...part, url: partUrl(session, mediaOf.get(part.id) ?? '', part.id) }
  const messages = request.messages.map((message): RequestMessage =>
    message.role === 'user' ? { ...message, parts: message.parts.map(link) } : message,
  )
  return {
    object: 'context',
    agent: agent.name,
    model: agent.model,
    instructions: request.instructions ?? null,
    messages: toOpenAiMessages(messages, undefined, { forPeople: true, narrowNames: request.narrowNames ?? false }),
    ...toolNames(request),
    estimated_tokens: next.estimatedTokens,
    context_tokens: next.contextTokens,
    summary: summary === undefined ? null : summaryResource(summary),
    omitted: { messages: next.omitted },
  }
}
