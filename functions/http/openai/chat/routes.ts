import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { sessionId } from '../../v1/fields.ts'
import { runHeaders } from '../../v1/messages/input-schema.ts'
import { ForeignEventSchema } from '../../run-steps/stream-schema.ts'
import { ChatCompletionSchema, chatCompletionRequest } from './chat-schemas.ts'
import { openAiProblems } from '../problems.ts'

const createChatCompletion = createRoute({
  method: 'post',
  path: '/openai/v1/chat/completions',
  operationId: 'createChatCompletion',
  summary: 'Chat Completions: for clients of that API',
  tags: ['OpenAI'],
  request: {
    headers: runHeaders.extend({
      'x-session-id': sessionId.optional().openapi({ description: 'The session; left out, it is found or made.' }),
    }),
    body: { required: true, content: { 'application/json': { schema: chatCompletionRequest } } },
  },
  responses: {
    200: {
      description:
        'The completion; with `stream`, its chunks as server-sent events. The header `x-session-id` names its session.',
      content: {
        'application/json': { schema: ChatCompletionSchema },
        'text/event-stream': { schema: ForeignEventSchema },
      },
    },
    ...openAiProblems(400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 502, 503, 504),
  },
})

/**
 * Serves Chat Completions with our sessions. The handler is imported with the first request, so that the API starts
 * quickly.
 */
export function chatCompletionRoutes(app: App, dependencies: RouteDependencies): void {
  app.openapi(createChatCompletion, async (c) => {
    const { serveChatCompletion } = await import('./serve-chat.ts')
    return serveChatCompletion(dependencies, c, c.req.valid('json'))
  })
}
